"""Mesh files of blocks, for tests."""

import itertools

from driver import write_msh


class Mesh:
    """Points with equal keys are one; `key` of a block makes them its own."""

    def __init__(self):
        self.points, self.elements = {}, []

    def add(self, kind, group, places, key=lambda place: 0):
        self.elements.append((kind, group, [self.points.setdefault((tuple(p), key(p)), len(self.points) + 1)
                                            for p in places]))

    def block(self, lower, upper, counts, group, key=lambda place: 0, tetrahedra=False):
        """A box of hexahedra, or of cubes of six tetrahedra along the same diagonal."""
        def at(*index):
            return tuple(a + (b - a) * i / n for a, b, i, n in zip(lower, upper, index, counts))
        for i, j, k in itertools.product(*map(range, counts)):
            if not tetrahedra:
                self.add(5, group, [at(i + a, j + b, k + c) for c in (0, 1) for a, b in ((0, 0), (1, 0), (1, 1), (0, 1))],
                         key)
                continue
            for axes in itertools.permutations(range(3)):
                corners = [(i, j, k)]
                for axis in axes:
                    corners.append(tuple(x + (a == axis) for a, x in enumerate(corners[-1])))
                if axes in ((0, 2, 1), (1, 0, 2), (2, 1, 0)):  # odd: else left-handed
                    corners[2:] = corners[:1:-1]
                self.add(4, group, [at(*corner) for corner in corners], key)

    def faces(self, axis, value, group, key=lambda place: 0, within=lambda place: True):
        """The faces of the hexahedra and tetrahedra so far at a plane become elements of a group, each once."""
        place_of = {number: place for (place, _), number in self.points.items()}
        done = set()
        for kind, _, numbers in list(self.elements):
            on = [place_of[n] for n in numbers if kind in (4, 5) and abs(place_of[n][axis] - value) < 1e-9]
            centre = [sum(x) / max(len(on), 1) for x in zip(*on)]
            if len(on) == (3 if kind == 4 else 4) and within(centre) and tuple(centre) not in done:
                done.add(tuple(centre))
                self.add(2 if kind == 4 else 3, group, on if kind == 4 else [on[0], on[1], on[2], on[3]], key)

    def write(self, names, path):
        """`names` of groups as in the file. Returns the setting of a case."""
        write_msh(path, [place for place, _ in self.points], self.elements, names)
        return "mesh.file=" + path
