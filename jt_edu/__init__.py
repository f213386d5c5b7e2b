"""jt_edu: a deep-learning framework that can be watched while it works."""
from jt_edu.var import Var
