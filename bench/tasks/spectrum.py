"""The 3-mer spectrum kernel of 2,000 proteins of length 300, against counting words into a sparse matrix."""

import numpy as np

from bench.task import scaled


def data(scale):
    rng = np.random.default_rng(14)
    letters = np.array(list("ACDEFGHIKLMNPQRSTVWY"))
    return {"strings": ["".join(rng.choice(letters, 300)) for _ in range(scaled(2000, scale, 50))]}


def gramian(data):
    import gramian as gm

    return {"K": gm.kernels.Spectrum(3)(data["strings"])}


def sklearn_CountVectorizer(data):
    """analyzer="char", ngram_range=(3, 3), then one sparse product"""
    from sklearn.feature_extraction.text import CountVectorizer

    counts = CountVectorizer(analyzer="char", ngram_range=(3, 3), lowercase=False).fit_transform(data["strings"])
    return {"K": (counts @ counts.T).toarray().astype(float)}


def quality(data, result):
    return {"total": float(result["K"].sum()), "trace": float(np.trace(result["K"]))}


peers = {"gramian": gramian, "sklearn_CountVectorizer": sklearn_CountVectorizer}
targets = [("sklearn_CountVectorizer", 1)]
warm = 0.1
