// A chip of 10 x 10 x 0.3 mm, soldered to the middle of a copper plate of 30 x 30 x 3 mm.
p = newp;
Point(p) = {0, 0, 0};
For i In {0:2}
  out[] = Extrude {10, 0, 0} { Point{p}; Layers{2}; };
  p = out[0];
  lines[i] = out[1];
EndFor
For i In {0:2}
  l = lines[i];
  For j In {0:2}
    out[] = Extrude {0, 10, 0} { Line{l}; Layers{2}; Recombine; };
    l = out[0];
    bottom[3 * i + j] = out[1];
  EndFor
EndFor
For k In {0:8}
  out[] = Extrude {0, 0, 3} { Surface{bottom[k]}; Layers{2}; Recombine; };
  top[k] = out[0];
  plate[k] = out[1];
EndFor
solder[] = Extrude {0, 0, 0.1} { Surface{top[4]}; Layers{1}; Recombine; };
chip[] = Extrude {0, 0, 0.3} { Surface{solder[0]}; Layers{1}; Recombine; };

Physical Volume("plate") = {plate[]};
Physical Volume("solder") = {solder[1]};
Physical Volume("chip") = {chip[1]};
Physical Surface("cold side") = {bottom[]};
