// A hexagonal prism of three blocks that meet at its axis, each with different local axes. Opposite sides
// are translated copies of each other.
n = 3;                    // elements along each edge of a block
h = Sqrt(3) / 2;
Point(1) = {1, 0, 0};     Point(2) = {0.5, h, 0};   Point(3) = {-0.5, h, 0};
Point(4) = {-1, 0, 0};    Point(5) = {-0.5, -h, 0}; Point(6) = {0.5, -h, 0};
Point(7) = {0, 0, 0};
For i In {1:6}
  Line(i) = {i, i % 6 + 1};
EndFor
Line(7) = {7, 1};  Line(8) = {7, 3};  Line(9) = {7, 5};
Curve Loop(1) = {7, 1, 2, -8};  Plane Surface(1) = {1};
Curve Loop(2) = {8, 3, 4, -9};  Plane Surface(2) = {2};
Curve Loop(3) = {9, 5, 6, -7};  Plane Surface(3) = {3};
Transfinite Curve {1:9} = n + 1;
Transfinite Surface {1:3};
Recombine Surface {1:3};
For b In {1:3}            // block[]: its top, its volume, and the sides above its four curves
  block[] = Extrude {0, 0, 1} { Surface{b}; Layers{n}; Recombine; };
  top[] += block[0];
  volume[] += block[1];
  side[] += {block[3], block[4]};
EndFor

Physical Volume("prism") = {volume[]};
Physical Surface("bottom") = {1:3};
Physical Surface("top") = {top[]};
Physical Surface("side 1") = {side[0]};
Physical Surface("side 2") = {side[1]};
Physical Surface("side 3") = {side[2]};
Physical Surface("side 4") = {side[3]};
Physical Surface("side 5") = {side[4]};
Physical Surface("side 6") = {side[5]};
