"""scikit-learn's base classes, imported without SciPy's distributions.

scikit-learn imports `scipy.stats` with its base classes, for one function that no fit here calls, and that import takes
longer than everything else of a first fit. A stand-in takes its place while scikit-learn is imported and is gone after
it: whoever needs `scipy.stats` then, scikit-learn included, imports the real one.
"""

import sys
from types import ModuleType

_NAME = "scipy.stats"

if _NAME not in sys.modules:
    _stand_in = sys.modules[_NAME] = ModuleType(_NAME)
    try:
        import sklearn.base  # noqa: F401
    finally:
        if sys.modules.get(_NAME) is _stand_in:
            del sys.modules[_NAME]
