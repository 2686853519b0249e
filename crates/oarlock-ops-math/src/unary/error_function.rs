//! Functions that the standard library lacks.

use oarlock_tensor::Float;

/// The error function; the relative error is about 1e-15.
///
/// Rational approximations of W. J. Cody (Mathematics of Computation 23, 1969): erf itself near 0, erfc beyond.
pub(crate) fn erf<T: Float>(x: T) -> T {
    let x = x.f64();
    let a = x.abs();
    let erfc = |ratio: f64| {
        let value = 1.0 - (-a * a).exp() * ratio;
        if x < 0.0 { -value } else { value }
    };
    T::of(if x.is_nan() {
        x
    } else if a <= 0.46875 {
        x * ratio(&NEAR, a * a)
    } else if a <= 4.0 {
        erfc(ratio(&MIDDLE, a))
    } else {
        let inverse_square = 1.0 / (a * a);
        erfc((FRAC_1_SQRT_PI - inverse_square * ratio(&FAR, inverse_square)) / a)
    })
}

const FRAC_1_SQRT_PI: f64 = std::f64::consts::FRAC_2_SQRT_PI / 2.0;

/// Numerator and denominator, highest power first.
type Ratio<const N: usize> = [[f64; N]; 2];

const NEAR: Ratio<5> = [
    [
        1.857_777_061_846_031_5e-1,
        3.161_123_743_870_565_5,
        1.138_641_541_510_501_6e2,
        3.774_852_376_853_02e2,
        3.209_377_589_138_469_4e3,
    ],
    [1.0, 2.360_129_095_234_412_2e1, 2.440_246_379_344_441_7e2, 1.282_616_526_077_372_3e3, 2.844_236_833_439_171e3],
];

const MIDDLE: Ratio<9> = [
    [
        2.153_115_354_744_038_3e-8,
        5.641_884_969_886_701e-1,
        8.883_149_794_388_377,
        6.611_919_063_714_163e1,
        2.986_351_381_974_001e2,
        8.819_522_212_417_69e2,
        1.712_047_612_634_070_7e3,
        2.051_078_377_826_071_6e3,
        1.230_339_354_797_997_2e3,
    ],
    [
        1.0,
        1.574_492_611_070_983_5e1,
        1.176_939_508_913_125e2,
        5.371_811_018_620_099e2,
        1.621_389_574_566_690_3e3,
        3.290_799_235_733_459_7e3,
        4.362_619_090_143_247e3,
        3.439_367_674_143_721_6e3,
        1.230_339_354_803_749_3e3,
    ],
];

const FAR: Ratio<6> = [
    [
        1.631_538_713_730_209_7e-2,
        3.053_266_349_612_323_6e-1,
        3.603_448_999_498_044_5e-1,
        1.257_817_261_112_292_6e-1,
        1.608_378_514_874_228e-2,
        6.587_491_615_298_378e-4,
    ],
    [
        1.0,
        2.568_520_192_289_822,
        1.872_952_849_923_460_4,
        5.279_051_029_514_285e-1,
        6.051_834_131_244_132e-2,
        2.335_204_976_268_691_8e-3,
    ],
];

fn ratio<const N: usize>(of: &Ratio<N>, x: f64) -> f64 {
    let horner = |coefficients: &[f64; N]| coefficients.iter().fold(0.0, |sum, c| sum * x + c);
    horner(&of[0]) / horner(&of[1])
}

#[test]
fn erf_is_accurate() {
    let expected = [
        (0.0, 0.0),
        (0.25, 0.2763263901682369),
        (-0.46875, -0.492613473217938),
        (0.5, 0.5204998778130465),
        (-1.5, -0.9661051464753108),
        (3.9, 0.9999999652077514),
        (4.5, 0.9999999998033839),
        (f64::INFINITY, 1.0),
    ];
    for (x, y) in expected {
        assert!((erf(x) - y).abs() < 1e-14, "erf({x}) is {}, expected {y}", erf(x));
    }
    assert!(erf(f64::NAN).is_nan());
}
