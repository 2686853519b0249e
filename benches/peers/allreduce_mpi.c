/* All-reduce of two processes with MPI: seconds of one exchange, a line per size. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    const int sizes[] = {4 << 10, 1 << 20, 16 << 20, 64 << 20};
    const int counts[] = {2000, 200, 20, 8};
    const int windows = 5;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int s = 0; s < 4; s++) {
        int n = sizes[s] / 4;
        float *data = malloc(sizes[s]);
        if (rank == 0) printf("TIMES %d", sizes[s]);
        for (int w = 0; w <= windows; w++) {
            for (int i = 0; i < n; i++) data[i] = 1.0f;
            MPI_Barrier(MPI_COMM_WORLD);
            double start = MPI_Wtime();
            for (int c = 0; c < counts[s]; c++)
                MPI_Allreduce(MPI_IN_PLACE, data, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
            if (w > 0 && rank == 0) printf(" %.9f", (MPI_Wtime() - start) / counts[s]);
        }
        if (rank == 0) printf("\n"), fflush(stdout);
        free(data);
    }
    MPI_Finalize();
    return 0;
}
