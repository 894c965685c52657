// The unit cube with n elements along each edge. Mesh it with: gmsh -3 cube.geo -o cube.msh
// (sp_solve also reads this file itself: mesh.file = cube.geo).
n = 8;
Point(1) = {0, 0, 0};
Extrude {1, 0, 0} { Point{1}; Layers{n}; Recombine; }
Extrude {0, 1, 0} { Line{1}; Layers{n}; Recombine; }
cube[] = Extrude {0, 0, 1} { Surface{5}; Layers{n}; Recombine; };
Physical Volume("cube") = {cube[1]};
Physical Surface("lid") = {cube[0]};
Physical Surface("wall") = {5, cube[2], cube[3], cube[4], cube[5]};
