// The shell between the spheres of radius 1 and 2: six blocks, one for each side of a cube, with curved
// hexahedra of order 3.
n = 2;                    // elements along each edge of a block
s = 1 / Sqrt(3);
Point(9) = {0, 0, 0};     // the centre
For c In {0:7}            // inner corners 1 to 8, outer ones 11 to 18, numbered as on a cube
  x = 2 * (c % 2) - 1; y = 2 * (Floor(c / 2) % 2) - 1; z = 2 * Floor(c / 4) - 1;
  Point(1 + c) = {s * x, s * y, s * z};
  Point(11 + c) = {2 * s * x, 2 * s * y, 2 * s * z};
  Line(41 + c) = {1 + c, 11 + c};
EndFor

from[] = {1, 3, 5, 7, 1, 2, 5, 6, 1, 2, 3, 4};
to[] = {2, 4, 6, 8, 3, 4, 7, 8, 5, 6, 7, 8};
For e In {1:12}           // arcs of great circles, inner 1 to 12, outer 21 to 32, and walls between blocks
  p = from[e - 1]; q = to[e - 1];
  Circle(e) = {p, 9, q};
  Circle(20 + e) = {10 + p, 9, 10 + q};
  Curve Loop(60 + e) = {e, 40 + q, -(20 + e), -(40 + p)};
  Surface(60 + e) = {60 + e};
EndFor

a[] = {1, 3, 1, 2, 5, 6};
b[] = {6, 8, 10, 12, 11, 12};
c[] = {2, 4, 3, 4, 7, 8};
d[] = {5, 7, 9, 11, 9, 10};
For f In {1:6}            // spherical squares with the arcs a, b, -c, -d
  i = f - 1;
  Curve Loop(f) = {a[i], b[i], -c[i], -d[i]};
  Surface(f) = {f} In Sphere {9};
  Curve Loop(20 + f) = {20 + a[i], 20 + b[i], -(20 + c[i]), -(20 + d[i])};
  Surface(20 + f) = {20 + f} In Sphere {9};
  Surface Loop(f) = {f, 20 + f, 60 + a[i], 60 + b[i], 60 + c[i], 60 + d[i]};
  Volume(f) = {f};
EndFor

Transfinite Curve {1:12, 21:32, 41:48} = n + 1;
Transfinite Surface {1:6, 21:26, 61:72};
Recombine Surface {1:6, 21:26, 61:72};
Transfinite Volume {1:6};
Mesh.ElementOrder = 3;

Physical Volume("shell") = {1:6};
Physical Surface("inside") = {1:6};
Physical Surface("outside") = {21:26};
