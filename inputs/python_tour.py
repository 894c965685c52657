"""A tour of sp_solve from Python: cells of a notebook (# %%), or a script. Needs numpy and scipy.

    pip install ./solver/python scipy
    python3 inputs/python_tour.py"""

# %% A case, set up once. Keys are the program's; `case.points` are the nodes.
import numpy as np
import scipy.optimize

import sp_solve

box = {"elements": (4, 4, 4), "order": 4, "tolerance": 1e-10, "log": None, "field": None}
case = sp_solve.Case(**box, forcing=1, keys={"boundary.default": "dirichlet 0", "result.hottest": "maximum"})
x, y, z = case.points.T
r = case.solve()
print(r.table())

# %% A sweep: cooling by air at one end, heat at the other. In one dimension u = 1 + 1 / h at the hot end.
fin = sp_solve.Case(**box, forcing=0, keys={"boundary.xmin": "neumann 1", "boundary.xmax": "robin 1, 0",
                                            "boundary.default": "neumann 0", "result.hottest": "maximum"})
for h in 0.5, 1, 2, 4:
    fin.change({"boundary.xmax": f"robin {h}, 0"})
    hottest = fin.solve().results["hottest"]
    print(f"h = {h}: hottest {hottest:.6f}")
    assert abs(hottest - (1 + 1 / h)) < 1e-6
fin.close()

# %% Many right-hand sides: only the solve costs, all else is set up. A source moves along x.
places = np.linspace(0.1, 0.9, 9)
top = [case.solve(source=np.exp(-50 * ((x - p)**2 + (y - 0.5)**2 + (z - 0.5)**2))).u.max() for p in places]
print("highest:", np.round(top, 5))
assert np.allclose(top, top[::-1], rtol=1e-6)

# %% A time loop of one's own: c du/dt - div(grad u) = 0 by implicit Euler, (c/dt M + K) u = c/dt M u_old.
c, dt, steps = 2.0, 0.01, 10
step = sp_solve.Case(**box, forcing=0, lambda_=c / dt, keys={"boundary.default": "dirichlet 0"})
mode = np.sin(np.pi * x) * np.sin(np.pi * y) * np.sin(np.pi * z)
u = mode
for _ in range(steps):
    u = step.solve(load=c / dt * (step.mass @ u), initial=u).u
step.close()
decay = (1 + 3 * np.pi**2 * dt / c)**-steps  # of this mode, by implicit Euler
print(f"after {steps} steps: {u.max():.6f}, exact in space {decay:.6f}")
assert abs(u.max() / decay - 1) < 1e-4

# %% The same in steps of the program, of order 2, which also evaluate results.
heat = sp_solve.Case(**box, forcing=0, capacity=c, initial="sin(pi*x)*sin(pi*y)*sin(pi*z)", end=steps * dt,
                     keys={"time.steps": steps, "boundary.default": "dirichlet 0", "result.hottest": "maximum"})
for r in heat.steps():
    print(f"t = {r.time:.2f}: hottest {r.results['hottest']:.6f}, exact {np.exp(-3 * np.pi**2 * r.time / c):.6f}")
assert abs(r.results["hottest"] / np.exp(-3 * np.pi**2 * r.time / c) - 1) < 2e-2
heat.close()

# %% An inverse problem: kappa of a region from u at probes. A = K0 + kappa K1, so K1 is the difference of two operators.
# `quadrature` has the points of each element, (3, elements, points), at which kappa and lambda may be arrays.
places = {"probe.p": (0.5, 0.5, 0.5), "probe.q": (0.25, 0.5, 0.5), "probe.r": (0.75, 0.25, 0.5)}
core = {"region.core.lower": (0.25, 0.25, 0.25), "region.core.upper": (0.75, 0.75, 0.75), "boundary.default": "dirichlet 0"}
one, two, body = (sp_solve.Case(**box, forcing=0, keys={**core, **places, "material.core.kappa": kappa})
                  for kappa in (1, 2, 5))
f = np.ones(body.sizes.local)
data = np.array(list(body.solve(source=f).probes.values()))  # measured on a body with kappa = 5
inside = (abs(body.quadrature.mean(axis=2, keepdims=True) - 0.5) < 0.25).all(axis=0)  # (elements, 1)
nodes = [np.argmin(((body.points - place)**2).sum(axis=1)) for place in places.values()]


def misfit(kappa):
    """J = |e|^2 / 2, e = u(probes) / data - 1; and dJ/dkappa = -p.K1 u with A p = dJ/du: A is its own adjoint."""
    body.set_kappa(np.where(inside, kappa[0], 1))
    u = body.solve(source=f).u
    e = u[nodes] / data - 1
    load = np.zeros_like(u)
    load[nodes] = e / data
    p = body.solve(load=load).u
    return e @ e / 2, np.array([-p @ (two.operator @ u - one.operator @ u)])


slope = (misfit([2.001])[0] - misfit([1.999])[0]) / 0.002
assert abs(misfit([2.0])[1][0] / slope - 1) < 1e-5
found = scipy.optimize.minimize(misfit, [2.0], jac=True, bounds=[(0.1, 100)], options={"ftol": 1e-15, "gtol": 1e-10})
print(f"kappa = {found.x[0]:.6f} after {found.nfev} evaluations")
assert abs(found.x[0] - 5) < 1e-4
