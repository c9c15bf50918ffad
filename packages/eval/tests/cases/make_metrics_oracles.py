"""Made metrics_oracles.json, on its standard output; needs scipy, statsmodels and scorio."""
import json, warnings
from importlib.metadata import version
import numpy as np, scipy.stats as st
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import DescrStatsW
import statsmodels.api as sm
from scorio import eval as sc
rng = np.random.default_rng(20261130)
out = {"made_with": {n: version(n) for n in ("numpy", "scipy", "statsmodels", "scorio")}}
pairs = [(0,1),(1,1),(0,2),(1,2),(1,8),(4,8),(7,8),(38,507),(107,507),(128,507),(243,486),(0,77),(38,38),(1,30),(29,30),(446,507),(9999,10000)]
out["wilson"] = {"how": "statsmodels.stats.proportion.proportion_confint(c, n, alpha=1-level, method='wilson')",
  "rows": [[c,n,l,*map(float,proportion_confint(c,n,alpha=1-l,method="wilson"))] for c,n in pairs for l in (.8,.95,.99)]}
out["jeffreys"] = {"how": "statsmodels ... method='jeffreys' (raw quantiles of Beta(c+1/2, n-c+1/2))",
  "rows": [[c,n,l,*map(float,proportion_confint(c,n,alpha=1-l,method="jeffreys"))] for c,n in pairs for l in (.8,.95,.99)]}
M = (rng.random((12,9)) < rng.beta(.5,.5,12)[:,None]).astype(int)
out["scorio"] = {"how": "scorio.eval.pass_at_k, pass_hat_k of the binary matrix with these row sums of 9 trials",
  "passed": M.sum(1).tolist(), "clean": 9,
  "pass_at_k": {k: float(sc.pass_at_k(M,k)) for k in range(1,10)}, "pass_hat_k": {k: float(sc.pass_hat_k(M,k)) for k in range(1,10)}}
out["posterior"] = {"how": "scipy.stats.beta(c+.5, n-c+.5).sf(.95); scipy.stats.betabinom(k, c+.5, n-c+.5).pmf(k) with k = n",
  "rows": [[c,n,float(st.beta(c+.5,n-c+.5).sf(.95)),float(st.betabinom(n,c+.5,n-c+.5).pmf(n))] for c,n in [(0,1),(1,1),(4,4),(20,20),(19,20),(10,20),(0,20),(8,8),(3,8)]]}
chances = rng.random(40).round(3).tolist()
pb = st.poisson_binom(chances)
out["count"] = {"how": "scipy.stats.poisson_binom(chances).ppf([.025, .975]) and ([.05, .95])", "chances": chances,
  "95": [int(pb.ppf(.025)), int(pb.ppf(.975))], "90": [int(pb.ppf(.05)), int(pb.ppf(.95))]}
x = rng.beta(.6,.5,23).round(4)
lo, hi = DescrStatsW(x).tconfint_mean(alpha=.05)
out["t"] = {"how": "statsmodels DescrStatsW(values).tconfint_mean(alpha=.05), std_mean", "values": x.tolist(), "low": float(lo), "high": float(hi), "se": float(DescrStatsW(x).std_mean)}
# cluster-robust regression on a constant: the same se as over task means, balanced attempts
c = rng.integers(0,7,15); y=np.concatenate([[1]*k+[0]*(6-k) for k in c]); g=np.repeat(np.arange(15),6)
fit = sm.OLS(y,np.ones_like(y)).fit(cov_type="cluster",cov_kwds={"groups":g,"use_correction":False})
out["cluster"] = {"how": "statsmodels OLS on a constant, cov_type cluster by task, no small-sample correction; times sqrt(N/(N-1)) it is the standard error over task means",
  "passed": c.tolist(), "clean": 6, "se": float(fit.bse[0])}
res = st.bootstrap((x,), np.mean, n_resamples=200_000, method="percentile", rng=np.random.default_rng(7))
lev = 1-2*st.norm.cdf(-np.sqrt(23/22)*st.t(22).ppf(.975))
res2 = st.bootstrap((x,), np.mean, n_resamples=200_000, method="percentile", confidence_level=lev, rng=np.random.default_rng(7))
out["bootstrap"] = {"how": "scipy.stats.bootstrap((values,), mean, 200000 resamples, percentile) at the level that the expanded percentile interval takes for .95: 1 - 2 Phi(-sqrt(23/22) t_22(.975)); se is its standard_error", "values": x.tolist(), "level": float(lev),
  "low": float(res2.confidence_interval.low), "high": float(res2.confidence_interval.high), "se": float(res.standard_error)}
print(json.dumps(out, indent=1))
