"""Wrong calls of layers, containers and initial numbers, and what their errors say."""

import numpy as np

import jt_edu as jt
from jt_edu import nn
from jt_edu.errors import ArgumentError as A
from jt_edu.errors import DtypeError as D
from jt_edu.errors import GradientError as G
from jt_edu.errors import RangeError as R
from jt_edu.errors import ShapeError as S
from jt_edu.nn import init, utils


def bag(*args, **settings):
    return nn.EmbeddingBag(3, 2, **settings)(*(jt.array(a) for a in args))


def bad_hook():
    module, x = nn.Identity(), jt.array([1.0])
    module.register_backward_hook(lambda m, gi, go: (gi[0], gi[0]))
    jt.grad(module(x).sum(), x)


CALLS = [
    ("linear without features", lambda: nn.Linear(0, 2), A, r"in_features=0"),
    ("linear with half a feature", lambda: nn.Linear(2, 2.5), A, r"out_features.*2\.5"),
    ("linear of another width", lambda: nn.Linear(3, 2)(jt.ones(2, 4)), S, r"\(2, 4\).*\(2, 3\)"),
    ("bilinear of another width", lambda: nn.Bilinear(3, 4, 2)(jt.ones(2, 3), jt.ones(2, 3)), S, r"\(2, 3\)"),
    ("bilinear of two batches", lambda: nn.Bilinear(3, 4, 2)(jt.ones(2, 3), jt.ones(5, 4)), S, r"\(5, 4\)"),
    ("unflatten into text", lambda: nn.Unflatten(1, "ab"), A, r"'ab'"),
    ("unflatten that does not fit", lambda: nn.Unflatten(1, (2, 4))(jt.ones(1, 6)), S, r"length 6.*\(2, 4\)"),
    ("unflatten with two unknowns", lambda: nn.Unflatten(1, (-1, -1))(jt.ones(1, 6)), S, r"\(-1, -1\)"),
    ("unflatten of an axis that is not there", lambda: nn.Unflatten(3, (2, 3))(jt.ones(1, 6)), R, r"3"),
    ("embedding of floats", lambda: nn.Embedding(3, 2)(jt.ones(2)), D, r"float32"),
    ("embedding beyond its table", lambda: nn.Embedding(3, 2)(jt.array([7])).sync(), R, r"7"),
    ("embedding with odd padding", lambda: nn.Embedding(3, 2, padding_idx=3), A, r"padding_idx=3"),
    ("embedding with a negative norm", lambda: nn.Embedding(3, 2, max_norm=-1.0), A, r"max_norm.*-1\.0"),
    ("embedding with the norm 0", lambda: nn.Embedding(3, 2, norm_type=0), A, r"norm_type.*0"),
    ("a table that is a vector", lambda: nn.embedding(jt.array([0]), jt.ones(3)), S, r"\(3,\)"),
    ("a frozen table of whole numbers", lambda: nn.Embedding.from_pretrained(np.ones((2, 2), int)), S, r"int64"),
    ("a bag reduced by a median", lambda: nn.EmbeddingBag(3, 2, mode="median"), A, r"'median'"),
    ("bags in a vector without offsets", lambda: bag([1]), S, r"\(1,\).*None"),
    ("bags in a matrix with offsets", lambda: bag([[1]], [0]), S, r"\(1, 1\)"),
    ("offsets that do not begin at 0", lambda: bag([1, 2], [1]), A, r"\[1\]"),
    ("offsets out of order", lambda: bag([1, 2], [0, 2, 1]), A, r"\[0, 2, 1\]"),
    ("offsets beyond the words", lambda: bag([1, 2], [0, 5]), A, r"\(2\).*\[0, 5\]"),
    ("weights for a mean", lambda: bag([1], [0], [1.0]), A, r"'mean'"),
    ("too few weights", lambda: bag([1, 2], [0], [1.0], mode="sum"), S, r"\(1,\)"),
    ("frequencies of a maximum", lambda: nn.EmbeddingBag(3, 2, scale_grad_by_freq=True, mode="max"), A, r"'max'"),
    ("batch norm of other channels", lambda: nn.BatchNorm(3)(jt.ones(2, 4)), S, r"\(2, 4\)"),
    ("batch norm of one number", lambda: nn.BatchNorm(3)(jt.ones(1, 3)), S, r"\(1, 3\), 1 per channel"),
    ("batch norm of whole numbers", lambda: nn.BatchNorm(3)(jt.ones((2, 3), dtype="int64")), D, r"int64"),
    ("batch norm with momentum 2", lambda: nn.BatchNorm(3, momentum=2), A, r"momentum.*2"),
    ("batch norm with negative eps", lambda: nn.BatchNorm(3, eps=-1), A, r"eps.*-1"),
    ("batch norm without statistics", lambda: nn.batch_norm(jt.ones(2, 3)), A,
     r"running_mean and running_var.*0 of two"),
    ("a group norm of other channels", lambda: nn.GroupNorm(1, 3)(jt.ones(2, 4)), S, r"\(2, 4\)"),
    ("instance norm of one pixel", lambda: nn.InstanceNorm2d(3)(jt.ones(2, 3, 1, 1)), S, r"\(2, 3, 1, 1\)"),
    ("instance norm of a vector", lambda: nn.InstanceNorm2d(3)(jt.ones(2, 3)), S, r"\(2, 3\)"),
    ("layer norm over nothing", lambda: nn.LayerNorm(()), A, r"\(\)"),
    ("layer norm of another width", lambda: nn.LayerNorm(3)(jt.ones(2, 4)), S, r"\(3,\).*\(2, 4\)"),
    ("rms norm of another width", lambda: nn.RMSNorm(3)(jt.ones(2, 4)), S, r"\(3,\).*\(2, 4\)"),
    ("rms norm of whole numbers", lambda: nn.RMSNorm(2)(jt.array([[1, 2]])), D, r"int64"),
    ("groups that do not divide", lambda: nn.GroupNorm(2, 3), A, r"2 groups for 3"),
    ("group norm of other channels", lambda: nn.GroupNorm(2, 4)(jt.ones(1, 2)), S, r"\(1, 2\)"),
    ("local response norm of a matrix", lambda: nn.LocalResponseNorm(2)(jt.ones(2, 2)), S, r"\(2, 2\)"),
    ("dropout with probability 2", lambda: nn.Dropout2d(2), A, r"p=2"),
    ("a channel dropout of a vector", lambda: nn.Dropout2d()(jt.ones(2)), S, r"\(2,\)"),
    ("prelu without slopes", lambda: nn.PReLU(0), A, r"num_parameters.*0"),
    ("prelu of other channels", lambda: nn.PReLU(3)(jt.ones(2, 4)), S, r"\(3,\).*\(2, 4\)"),
    ("an rrelu upside down", lambda: nn.RReLU(0.5, 0.1), A, r"lower 0\.5, upper 0\.1"),
    ("a hardtanh upside down", lambda: nn.Hardtanh(1.0, -1.0), A, r"min_val=1\.0"),
    ("a gelu of magic", lambda: nn.GELU("magic"), A, r"'magic'"),
    ("a slope that is text", lambda: nn.LeakyReLU("steep"), A, r"'steep'"),
    ("a softplus without a corner", lambda: nn.Softplus(0), A, r"found 0"),
    ("a celu of nothing", lambda: nn.CELU(0), A, r"found 0"),
    ("a negative softshrink", lambda: nn.Softshrink(-1.0), A, r"-1\.0"),
    ("softmax2d of a matrix", lambda: nn.Softmax2d()(jt.ones(2, 2)), S, r"\(2, 2\)"),
    ("a glu of an odd width", lambda: nn.GLU()(jt.ones(2, 3)), S, r"\(2, 3\)"),
    ("a sequential of numbers", lambda: nn.Sequential(3), A, r"found 3"),
    ("a part that is not there", lambda: nn.Sequential(nn.ReLU())[4], R, r"index 4"),
    ("a name with a dot", lambda: nn.ModuleDict({"a.b": nn.ReLU()}), A, r"'a\.b'"),
    ("a parameter of whole numbers", lambda: nn.ParameterList([np.array([1])]), D, r"int64"),
    ("a number in place of a weight", lambda: setattr(nn.Linear(1, 1), "weight", 3.0), A, r"Linear.weight.*float"),
    ("a submodule that is not there", lambda: nn.Linear(1, 1).get_submodule("x"), A, r"'x'"),
    ("a state of nothing", lambda: nn.Linear(1, 1).load_state_dict({}), S, r"missing weight; missing bias"),
    ("a hook that is a number", lambda: nn.Linear(1, 1).register_backward_hook(3), A, r"found 3"),
    ("a hook with two answers for one", bad_hook, G, r"2 for 1"),
    ("a module without execute", lambda: nn.Module()(1), A, r"Module must say what it computes"),
    ("an eye that is a vector", lambda: init.eye_(jt.ones(3)), S, r"\(3,\)"),
    ("a dirac of a matrix", lambda: init.dirac_(jt.ones(3, 3)), S, r"\(3, 3\)"),
    ("a dirac in odd groups", lambda: init.dirac_(jt.ones(3, 3, 3), 2), A, r"groups 2 for 3"),
    ("an orthogonal vector", lambda: init.orthogonal_(jt.ones(3)), S, r"\(3,\)"),
    ("orthogonal whole numbers", lambda: init.orthogonal_(jt.ones((2, 2), dtype="int64")), D, r"int64"),
    ("more zeros than there are", lambda: init.sparse_(jt.ones(2, 2), 1.5), A, r"1\.5"),
    ("a sparse vector", lambda: init.sparse_(jt.ones(2), 0.5), S, r"\(2,\)"),
    ("kaiming of a vector", lambda: init.kaiming_uniform_(jt.ones(3)), S, r"\(3,\)"),
    ("kaiming by another fan", lambda: init.kaiming_normal_(jt.ones(3, 3), mode="fan"), A, r"'fan'"),
    ("an unknown gain", lambda: init.calculate_gain("magic"), A, r"'magic'"),
    ("a truncation upside down", lambda: init.trunc_normal_(jt.ones(3), a=2, b=1), A, r"a 2, b 1"),
    ("too short a vector", lambda: utils.vector_to_parameters(jt.ones(2), [jt.ones(3)]), S, r"3 numbers.*\(2,\)"),
    ("no parameters at all", lambda: utils.parameters_to_vector([]), A, r"\[\]"),
    ("clipping to less than nothing", lambda: utils.clip_grad_norm_([jt.ones(1)], -1.0), A, r"-1\.0"),
    ("clipping by the norm 0", lambda: utils.clip_grad_norm_([jt.ones(1)], 1.0, 0), A, r"norm_type.*0"),
    ("weight norm of no parameter", lambda: utils.weight_norm(nn.ReLU()), A, r"'weight'.*ReLU"),
    ("weight norm twice", lambda: utils.weight_norm(utils.weight_norm(nn.Linear(1, 1))), A, r"'weight'"),
    ("weight norm along no axis", lambda: utils.weight_norm(nn.Linear(1, 1), dim=5), A, r"found 5"),
    ("spectral norm of no steps", lambda: utils.spectral_norm(nn.Linear(1, 1), n_power_iterations=0), A,
     r"n_power_iterations=0"),
    ("a norm that is not there", lambda: utils.remove_weight_norm(nn.Linear(1, 1)), A, r"Linear without"),
    ("batch norm of three axes", lambda: nn.BatchNorm2d(2)(jt.ones(3, 2, 4)), S, r"BatchNorm2d.*\(3, 2, 4\)"),
    ("batch norm of five axes", lambda: nn.BatchNorm1d(2)(jt.ones(3, 2, 4, 4, 4)), S, r"\(3, 2, 4, 4, 4\)"),
    ("half of the statistics", lambda: nn.batch_norm(jt.ones(2, 3), jt.ones(3)), A, r"1 of two"),
    ("statistics that cannot move",
     lambda: nn.batch_norm(jt.ones(2, 3), [0.0] * 3, [1.0] * 3, training=True), A, r"list, list"),
    ("two slopes of one leak", lambda: nn.LeakyReLU(0.1, negative_slope=0.2), A, r"scale=0\.1, negative_slope=0\.2"),
    ("two slopes to begin with", lambda: nn.PReLU(1, 0.1, init=0.9), A, r"init_=0\.1, init=0\.9"),
    ("a row that is not there", lambda: nn.embedding(jt.array([1]), jt.ones(3, 1), 10), A, r"padding_idx=10"),
    ("a bag of a row that is not there",
     lambda: nn.embedding_bag(jt.array([[1]]), jt.ones(3, 1), padding_idx=-4), A, r"padding_idx=-4"),
    ("softmax along a letter", lambda: nn.Softmax("a"), A, r"dim='a'"),
    ("a response that is no number", lambda: nn.LocalResponseNorm(2, alpha=float("nan")), A, r"alpha=nan"),
    ("a temperature of 0", lambda: nn.gumbel_softmax(jt.ones(2), 0), A, r"tau=0"),
    ("a normal number far away", lambda: nn.init.trunc_normal_(jt.zeros(2), a=50, b=60), A, r"a 50, b 60"),
    ("two lower ends", lambda: nn.init.uniform_(jt.zeros(2), 0.5, a=0.1), A, r"low=0\.5, a=0\.1"),
    ("weights of a norm of another shape",
     lambda: nn.layer_norm(jt.ones(2, 3), (3,), jt.ones(2, 3)), S, r"\(2, 3\)"),
]  # fmt: skip
