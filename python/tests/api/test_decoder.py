"""fluid.contrib.decoder: values recorded from Fluid 1.8.5."""

import numpy as np
import pytest

import oarlock.fluid as fluid
from oarlock.fluid import layers
from oarlock.fluid.contrib.decoder import BeamSearchDecoder, InitState, StateCell, TrainingDecoder

CPU = fluid.CPUPlace()


def make_cell(encoded, reorder=True):
    cell = StateCell(inputs={"x": None}, states={"h": InitState(init=encoded, need_reorder=reorder)}, out_state="h")

    @cell.state_updater
    def update(cell):
        both = layers.concat([cell.get_state("h"), cell.get_input("x")], 1)
        cell.set_state("h", layers.fc(both, 3, act="tanh", param_attr=fluid.ParamAttr(name="cw"), bias_attr=False))

    return cell


def uniform(seed, shape, width=1):
    return np.random.RandomState(seed).uniform(-width, width, shape).astype("float32")


def set_parameters(first_seed, width):
    for number, param in enumerate(sorted(fluid.default_main_program().all_parameters(), key=lambda p: p.name)):
        fluid.global_scope().var(param.name).get_tensor().set(uniform(first_seed + number, param.shape, width), CPU)


def test_training_over_known_sequences_gives_the_values_of_fluid():
    encoded, words = fluid.data("encoded", [None, 3]), fluid.data("words", [None, 2], lod_level=1)
    decoder = TrainingDecoder(make_cell(encoded))
    assert decoder._status == TrainingDecoder.BEFORE_DECODER
    with decoder.block():
        decoder.state_cell.compute_state(inputs={"x": decoder.step_input(words)})
        assert decoder._status == TrainingDecoder.IN_DECODER and decoder.static_input(encoded).shape == (-1, 3)
        decoder.state_cell.update_states()
        decoder.output(decoder.state_cell.out_state())
    assert decoder._status == TrainingDecoder.AFTER_DECODER and decoder.dynamic_rnn.status == layers.DynamicRNN.AFTER_RNN
    set_parameters(1, 1)
    chance = np.random.RandomState(0)
    batch = fluid.create_lod_tensor(chance.uniform(-1, 1, [5, 2]).astype("float32"), [[2, 3]], CPU)
    feed = {"words": batch, "encoded": chance.uniform(-1, 1, [2, 3]).astype("float32")}
    (out,) = fluid.Executor().run(feed=feed, fetch_list=[decoder()], return_numpy=False)
    assert out.recursive_sequence_lengths() == [[2, 3]]
    np.testing.assert_allclose(np.array(out), [
        [-0.4234, 0.4494, -0.7736], [0.3283, -0.2265, 0.2050], [0.4867, 0.9018, -0.3035], [-0.6167, 0.2765, -0.9600],
        [0.6669, -0.4595, 0.8188]], atol=1e-4)


def test_beam_search_finds_the_sequences_of_fluid():
    encoded = fluid.data("encoded", [None, 3], lod_level=1)
    ids, scores = fluid.data("ids", [None, 1], "int64", lod_level=2), fluid.data("scores", [None, 1], lod_level=2)
    decoder = BeamSearchDecoder(make_cell(encoded), ids, scores, target_dict_dim=6, word_dim=2, topk_size=4, max_len=4, beam_size=2)
    decoder.decode()
    assert decoder._status == BeamSearchDecoder.AFTER_BEAM_SEARCH_DECODER
    set_parameters(5, 2)
    chance = np.random.RandomState(0)
    chance.uniform(-1, 1, [5, 2]), chance.uniform(-1, 1, [2, 3])
    tensor = lambda array, lengths: fluid.create_lod_tensor(array, lengths, CPU)
    feed = {
        "encoded": tensor(chance.uniform(-1, 1, [2, 3]).astype("float32"), [[1, 1]]),
        "ids": tensor(np.zeros([2, 1], "int64"), [[1, 1], [1, 1]]), "scores": tensor(np.ones([2, 1], "float32"), [[1, 1], [1, 1]]),
    }
    found, score = fluid.Executor().run(feed=feed, fetch_list=list(decoder()), return_numpy=False)
    assert found.recursive_sequence_lengths() == [[2, 2], [2, 4, 4, 4]]
    assert np.array(found).ravel().tolist() == [0, 1, 0, 2, 4, 1, 0, 4, 5, 1, 0, 4, 4, 1]
    np.testing.assert_allclose(np.array(score).ravel(), [
        1, 0.7768, 1, -1.6978, -2.0432, -2.4685, 1, 0.6392, -0.4993, -0.7879, 1, 0.6392, -0.5262, -1.0366], atol=1e-4)


def test_a_step_of_the_users_own_reads_and_updates_arrays():
    encoded, scores = fluid.data("encoded", [None, 3]), fluid.data("scores", [None, 1])
    ids = fluid.data("ids", [None, 1], "int64")
    decoder = BeamSearchDecoder(make_cell(encoded), ids, scores, 6, 2, max_len=3)
    with decoder.block():
        assert decoder.type == 2 and decoder.state_cell.get_state("h").shape == (-1, 3)
        before = decoder.read_array(init=scores)
        with pytest.raises(ValueError, match="at the same time"):
            decoder.read_array(init=scores, is_ids=True, is_scores=True)
        decoder.update_array(before, layers.scale(before, 2.0))
        decoder.early_stop()
        with pytest.raises(TypeError, match="`value`"):
            decoder.update_array(before, 1)
    with pytest.raises(ValueError, match="inside block"):
        decoder.update_array(before, before)
    with pytest.raises(ValueError, match="only be invoke once"):
        with decoder.block():
            pass


def test_wrong_states_and_inputs_are_refused():
    encoded = fluid.data("encoded", [None, 3])
    with pytest.raises(ValueError, match="init_boot must be provided"):
        InitState()
    assert InitState(init_boot=encoded, shape=[-1, 2], need_reorder=True).need_reorder
    with pytest.raises(ValueError, match="InitState"):
        StateCell({"x": None}, {"h": encoded}, "h")
    with pytest.raises(ValueError, match="out_state"):
        StateCell({"x": None}, {"h": InitState(encoded)}, "g")
    cell = make_cell(encoded)
    with pytest.raises(ValueError, match="Invalid input x"):
        cell.get_input("x")
    with pytest.raises(ValueError, match="Unknown input y"):
        cell.compute_state({"y": encoded})
    with pytest.raises(ValueError, match="Unknown state g"):
        cell.get_state("g")
    decoder = TrainingDecoder(cell)
    with pytest.raises(ValueError, match="already entered"):
        TrainingDecoder(cell)
    for call in (lambda: decoder.step_input(encoded), lambda: decoder.static_input(encoded), lambda: decoder.output(encoded)):
        with pytest.raises(ValueError, match="inside block"):
            call()
    with pytest.raises(ValueError, match="outside the block"):
        decoder()
