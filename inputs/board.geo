// A chip on a circuit board of 40 x 30 mm: copper planes of 0.035 mm on both sides of FR4, and vias below the
// chip; lengths in mm. The footprint is a grid of 3 x 3 cells; the chip covers the one in the middle.
width[] = {15, 10, 15};                 // of cells, along x
depth[] = {10, 10, 10};                 // along y

Point(1) = {0, 0, 0};
end = 1;
For i In {0:2}
  new[] = Extrude {width[i], 0, 0} { Point{end}; Layers{4}; Recombine; };
  end = new[0];
  line[i] = new[1];
EndFor
For k In {0:2}
  For i In {0:2}
    cell[] = Extrude {0, depth[k], 0} { Curve{line[i]}; Layers{4}; Recombine; };
    line[i] = cell[0];                  // the next row begins there
    block[] = Extrude {0, 0, 0.035} { Surface{cell[1]}; Layers{1}; Recombine; };
    copper[] += block[1];
    block[] = Extrude {0, 0, 1.53} { Surface{block[0]}; Layers{2}; Recombine; };
    If (i == 1 && k == 1)
      vias[] = {block[1]};
    Else
      fr4[] += block[1];
    EndIf
    block[] = Extrude {0, 0, 0.035} { Surface{block[0]}; Layers{1}; Recombine; };
    copper[] += block[1];
    If (i == 1 && k == 1)
      paste[] = {block[0]};
      block[] = Extrude {0, 0, 0.8} { Surface{block[0]}; Layers{1}; Recombine; };
      chip[] = {block[1]};
    EndIf
  EndFor
EndFor

Physical Volume("chip") = {chip[]};
Physical Volume("copper") = {copper[]};
Physical Volume("FR4") = {fr4[]};
Physical Volume("vias") = {vias[]};     // FR4 with vias
Physical Surface("paste") = {paste[]};  // between the chip and the board
Physical Surface("air") = Abs(CombinedBoundary { Volume{:}; });
