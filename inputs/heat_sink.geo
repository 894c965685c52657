// An electric heater under a copper plate under an aluminium heat sink with four fins; lengths in mm. The
// footprint is a grid of 7 columns (fin, gap, fin ...) by 3 rows. Blocks are extruded from its cells: all have
// the base above, every other column a fin on that, the middle ones the plate below, the middle row of these
// the heater below the plate.
width[] = {2, 4, 2, 4, 2, 4, 2};        // of columns, along x
depth[] = {8, 14, 8};                   // of rows, along y

Point(1) = {0, 0, 0};
end = 1;
For i In {0:6}
  new[] = Extrude {width[i], 0, 0} { Point{end}; Layers{width[i] / 2}; Recombine; };
  end = new[0];
  line[i] = new[1];
EndFor
For k In {0:2}
  For i In {0:6}
    cell[] = Extrude {0, depth[k], 0} { Curve{line[i]}; Layers{4}; Recombine; };
    line[i] = cell[0];                  // the next row begins there
    block[] = Extrude {0, 0, 3} { Surface{cell[1]}; Layers{2}; Recombine; };
    base[] += block[1];
    If (i % 2 == 0)
      block[] = Extrude {0, 0, 16} { Surface{block[0]}; Layers{6}; Recombine; };
      fins[] += block[1];
    EndIf
    If (i >= 2 && i <= 4)
      block[] = Extrude {0, 0, -2} { Surface{cell[1]}; Layers{2}; Recombine; };
      plate[] += block[1];
      If (k == 1)
        block[] = Extrude {0, 0, -1} { Surface{block[0]}; Layers{1}; Recombine; };
        heater[] += block[1];
      EndIf
    EndIf
  EndFor
EndFor

// Exterior faces by part: without those that it has in common with another part.
of_base[] = Abs(CombinedBoundary { Volume{base[]}; });
of_fins[] = Abs(CombinedBoundary { Volume{fins[]}; });
of_rest[] = Abs(CombinedBoundary { Volume{plate[], heater[]}; });
outer_base[] = of_base[];
outer_base[] -= of_fins[];
outer_base[] -= of_rest[];
of_fins[] -= of_base[];
of_rest[] -= of_base[];

Physical Volume("sink") = {base[], fins[]};
Physical Volume("plate") = {plate[]};
Physical Volume("heater") = {heater[]};
Physical Surface("fins") = {of_fins[]};
Physical Surface("base") = {outer_base[]};
Physical Surface("insulated") = {of_rest[]};
