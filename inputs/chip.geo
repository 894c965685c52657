// A silicon die, glued to a copper plate; lengths in mm. One core of the die makes heat. The footprint is a
// grid of 5 x 5 cells; the die covers the 3 x 3 in the middle, the core the one in the middle.
width[] = {4, 1, 3, 4, 4};              // of cells, along x
depth[] = {4, 3, 2, 3, 4};              // along y

Point(1) = {0, 0, 0};
end = 1;
For i In {0:4}
  new[] = Extrude {width[i], 0, 0} { Point{end}; Layers{width[i]}; Recombine; };
  end = new[0];
  line[i] = new[1];
EndFor
For k In {0:4}
  For i In {0:4}
    cell[] = Extrude {0, depth[k], 0} { Curve{line[i]}; Layers{depth[k]}; Recombine; };
    line[i] = cell[0];                  // the next row begins there
    bottom[] += cell[1];
    block[] = Extrude {0, 0, 2} { Surface{cell[1]}; Layers{2}; Recombine; };
    plate[] += block[1];
    If (i >= 1 && i <= 3 && k >= 1 && k <= 3)
      block[] = Extrude {0, 0, 0.05} { Surface{block[0]}; Layers{1}; Recombine; };
      glue[] += block[1];
      block[] = Extrude {0, 0, 0.4} { Surface{block[0]}; Layers{1}; Recombine; };
      If (i == 2 && k == 2)
        core[] = {block[1]};
      Else
        die[] += block[1];
      EndIf
    EndIf
  EndFor
EndFor

Physical Volume("plate") = {plate[]};
Physical Volume("glue") = {glue[]};
Physical Volume("die") = {die[]};       // without the core
Physical Volume("core") = {core[]};
Physical Surface("bottom") = {bottom[]};
sides[] = Abs(CombinedBoundary { Volume{:}; });
sides[] -= bottom[];
Physical Surface("sides") = {sides[]};
