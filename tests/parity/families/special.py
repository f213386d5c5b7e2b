"""Special functions beside SciPy's and PyTorch's, on numbers of every sign and at the edges."""

import numpy as np
import scipy.special

import jt_edu as jt
from tests.parity.inputs import BOOL, FLOATS, HALVES, REALS, WHOLE
from tests.parity.table import ONE, TWO, Row

REAL_FLOATS = (*HALVES, *FLOATS)
NO_COMPLEX = (*BOOL, *REALS)
NUMERIC = ("int32", "int64", *REAL_FLOATS)


def _t(name, *rest, **options):
    """PyTorch's function of that name, here or in torch.special."""
    return lambda t, *xs: (getattr(t.special, name, None) or getattr(t, name))(*xs, *rest, **options)


def _scipy(function):
    """SciPy's answer in float64, in the dtype that NumPy's exp of the input has."""
    return lambda *xs: np.asarray(function(*(x.astype(np.float64) for x in xs))).astype(
        np.exp(np.zeros(1, np.result_type(*xs))).dtype
    )


def _sinc(x):
    """NumPy's sine of pi is not quite 0."""
    wide = np.where(x == np.round(x), x == 0, np.sinc(x.astype(np.float64)))
    return wide.astype(np.sinc(np.zeros(1, x.dtype)).dtype)


ONE_NUMBER = tuple(
    Row(name, ours, _scipy(theirs), torch, ONE, dtypes, domain, loose)
    for name, ours, theirs, torch, dtypes, domain, loose in (
        ("erfc", jt.erfc, scipy.special.erfc, _t("erfc"), NO_COMPLEX, "any", 8),
        ("erfcx", jt.erfcx, scipy.special.erfcx, _t("erfcx"), REAL_FLOATS, "any", 8),
        ("erfcx of positive numbers", jt.erfcx, scipy.special.erfcx, _t("erfcx"), NO_COMPLEX, "positive", 1),
        ("ndtr", jt.ndtr, scipy.special.ndtr, _t("ndtr"), NO_COMPLEX, "any", 8),
        ("log_ndtr", jt.log_ndtr, scipy.special.log_ndtr, _t("log_ndtr"), NO_COMPLEX, "any", 2),
        ("gamma", jt.gamma, scipy.special.gamma, None, NUMERIC, "positive", 2),
        ("gamma of negative numbers too", jt.gamma, scipy.special.gamma, None, REAL_FLOATS, "unit", 4),
        ("lgamma", jt.lgamma, scipy.special.gammaln, _t("gammaln"), NUMERIC, "positive", 2),
        ("lgamma of negative numbers too", jt.lgamma, scipy.special.gammaln, _t("gammaln"), REAL_FLOATS, "unit", 2),
        ("gammaln", jt.gammaln, scipy.special.gammaln, _t("gammaln"), REAL_FLOATS, "above", 2),
        ("digamma", jt.digamma, scipy.special.digamma, _t("digamma"), NUMERIC, "positive", 2),
        ("psi", jt.psi, scipy.special.psi, _t("psi"), REAL_FLOATS, "unit", 2),
        ("polygamma of order 0", lambda x: jt.polygamma(0, x), lambda x: scipy.special.polygamma(0, x),
         _t("digamma"), REAL_FLOATS, "positive", 2),
        ("polygamma of order 1", lambda x: jt.polygamma(1, x), lambda x: scipy.special.polygamma(1, x),
         None, NUMERIC, "positive", 2),
        ("polygamma of order 2", lambda x: jt.polygamma(2, x), lambda x: scipy.special.polygamma(2, x),
         None, FLOATS, "positive", 4),
        ("polygamma of order 5", lambda x: jt.polygamma(5, x), lambda x: scipy.special.polygamma(5, x),
         None, FLOATS, "above", 4),
        ("mvlgamma of dimension 1", lambda x: jt.mvlgamma(x, 1), lambda x: scipy.special.gammaln(x),
         _t("multigammaln", 1), FLOATS, "above", 2),
        ("mvlgamma of dimension 3", lambda x: jt.mvlgamma(x, p=3),
         lambda x: np.asarray([scipy.special.multigammaln(v, 3) for v in x.ravel()]).reshape(x.shape),
         _t("multigammaln", 3), FLOATS, "above", 4),
        ("i0", jt.i0, scipy.special.i0, _t("i0"), NUMERIC, "any", 4),
        ("i0e", jt.i0e, scipy.special.i0e, _t("i0e"), NUMERIC, "any", 4),
        ("i1", jt.i1, scipy.special.i1, _t("i1"), NUMERIC, "any", 4),
        ("i1e", jt.i1e, scipy.special.i1e, _t("i1e"), NUMERIC, "any", 4),
        ("logit of a square", lambda x: jt.logit(x * x), lambda x: scipy.special.logit(x * x),
         lambda t, x: t.logit(x * x), REAL_FLOATS, "unit", 4),
        ("logit with an eps", lambda x: jt.logit(x, eps=0.25),
         lambda x: scipy.special.logit(np.clip(x, 0.25, 0.75)), lambda t, x: t.logit(x, 0.25), REAL_FLOATS, "unit", 4),
        ("entr", jt.entr, scipy.special.entr, _t("entr"), NUMERIC, "positive", 2),
    )
)  # fmt: skip

SINC = (
    Row("sinc", jt.sinc, _sinc, _t("sinc"), ONE, (*WHOLE, *FLOATS), "any", 4),
    Row("np.i0", jt.i0, lambda x: np.i0(x).astype(x.dtype), None, ONE, FLOATS, "any", 1000, orders=0),
)

EDGES = tuple(
    Row(f"{name} of odd numbers", ours, _scipy(theirs), torch, (((13,),), ((4, 5),)), FLOATS, "odd", 8, orders=0)
    for name, ours, theirs, torch in (
        ("erfc", jt.erfc, scipy.special.erfc, _t("erfc")),
        ("erfcx", jt.erfcx, scipy.special.erfcx, None),
        ("ndtr", jt.ndtr, scipy.special.ndtr, None),
        ("log_ndtr", jt.log_ndtr, scipy.special.log_ndtr, None),
        ("gamma", jt.gamma, scipy.special.gamma, None),
        ("lgamma", jt.lgamma, lambda x: np.where(x == -np.inf, np.inf, scipy.special.gammaln(x)), _t("gammaln")),
        ("digamma", jt.digamma, scipy.special.digamma, None),
        ("i0e", jt.i0e, scipy.special.i0e, None),
        ("i1e", jt.i1e, scipy.special.i1e, None),
        ("entr", jt.entr, scipy.special.entr, _t("entr")),
        ("logit", jt.logit, scipy.special.logit, None),
        ("sinc", jt.sinc, np.sinc, None),
    )
)

TWO_NUMBERS = (
    Row("xlogy", jt.xlogy, _scipy(scipy.special.xlogy), _t("xlogy"), TWO, NO_COMPLEX, "positive"),
    Row("xlogy with zeros", jt.xlogy, _scipy(scipy.special.xlogy), _t("xlogy"), TWO, NO_COMPLEX, "few", orders=0),
    Row("xlogy of odd numbers", jt.xlogy, _scipy(scipy.special.xlogy), None, TWO, FLOATS, "odd", orders=0),
    Row("xlog1py", jt.xlog1py, _scipy(scipy.special.xlog1py), _t("xlog1py"), TWO, NO_COMPLEX, "positive"),
    Row("xlog1py with zeros", jt.xlog1py, _scipy(scipy.special.xlog1py), _t("xlog1py"), TWO, FLOATS, "few", orders=0),
    Row("zeta", jt.zeta, _scipy(scipy.special.zeta), lambda t, s, q: t.special.zeta(s.detach(), q), TWO, FLOATS,
        "above", 4, orders=0),
    Row("zeta by its second number", lambda q: jt.zeta(3.0, q), _scipy(lambda q: scipy.special.zeta(3.0, q)),
        lambda t, q: t.special.zeta(t.tensor(3.0, dtype=q.dtype), q), ONE, FLOATS, "positive", 4),
)  # fmt: skip

ROWS = (*ONE_NUMBER, *SINC, *EDGES, *TWO_NUMBERS)
