"""Fit, choose, check and draw: python examples/01_quick_start.py [folder for the charts]."""

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

import gramian as gm
from gramian.charts import save_png

X, y = load_diabetes(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

for model in (gm.LinearRegression(), gm.Ridge(), gm.Lasso(), gm.ElasticNet(l1_ratio=0.9)):
    model.fit(X_train, y_train)
    error = np.sqrt(np.mean((y_test - model.predict(X_test)) ** 2))
    used = int((model.coef_ != 0).sum())
    print(f"{type(model).__name__:<17} test error {error:.1f} with {used:>2} features; {model.certificate_}")

model = gm.Ridge().fit(X_train, y_train)
print()
print(model.summary())
mean, low, high = model.predict(X_test, interval=0.9)
print(f"90 % intervals hold {np.mean((low <= y_test) & (y_test <= high)):.0%} of the test rows")

if len(sys.argv) > 1:
    print("drawn:", save_png(model.chart(), Path(sys.argv[1]) / "ridge.png"))
