# A manual page from what a program prints with --help and, if it reads cases, with --defaults:
#   awk -v name=sp_solve -v version=0.2.0 -v about=DESCRIPTION -v documents=share/doc -v inputs=FOLDER
#       -f man.awk HELP [DEFAULTS]

function roff(text) { # a text as roff prints it unchanged
  gsub(/\\/, "\\e", text)
  gsub(/-/, "\\-", text)
  gsub(/'/, "\\(aq", text)
  gsub(/`/, "\\(ga", text)
  gsub(/\^/, "\\(ha", text)
  gsub(/~/, "\\(ti", text)
  return text
}

function filled(text) { # a line of running text
  gsub(/ +/, " ", text)
  sub(/^ /, "", text)
  text = roff(text)
  print (text ~ /^\./ ? "\\&" : "") text
}

function literal(text) { # a line as it is
  text = roff(text)
  print (text ~ /^\./ ? "\\&" : "") text
}

function option(text, words, count, w, line) { # the head of an option: names bold, values in italics
  count = split(text, words, " ")
  for (w = 1; w <= count; w++)
    line = line (w > 1 ? " " : "") (words[w] ~ /^-/ ? "\\fB" : "\\fI") roff(words[w]) "\\fR"
  print ".TP\n" line
}

function section(title) {
  if (title != current) print ".SH " title
  current = title
}

FNR == NR { help[++lines] = $0; next }
{ defaults[++keys] = $0 }

END {
  if (!lines) exit 1
  print ".\\\" Made from the output of " name ". Do not edit."
  print ".TH " name " 1 \"\" \"sp_solve " version "\" \"User Commands\""
  print ".SH NAME\n" name " \\- " roff(about)
  page_of_help()
  if (keys) page_of_defaults()
  print ".SH SEE ALSO"
  print "Several ranks are started with"
  print ".BR mpirun (1)\nor\n.BR srun (1)."
  print "The manuals are in\n.IR " roff(documents) " ,\ncases to copy in\n.IR " roff(inputs) " ,"
  print "relative to the prefix of the installation."
}

# Lines of --help: "usage:", paragraphs, options at two blanks with their texts in one column, "exit codes:", and
# indented examples below a line that ends in a colon.
function page_of_help(n, line, column) {
  for (n = 1; n <= lines && !column; n++)
    if (seen && help[n] ~ /^          /) column = match(help[n], /[^ ]/)
    else seen = seen || help[n] ~ /^  -/
  section("SYNOPSIS")
  print ".nf"
  for (n = 1; n <= lines && help[n] != ""; n++) literal(substr(help[n], 8))
  print ".fi"
  section("DESCRIPTION")
  for (n++; n <= lines; n++) {
    line = help[n]
    if (line == "") {
      if (current == "DESCRIPTION" && n < lines && help[n + 1] !~ /^  -|^exit codes:|:$/) print ".PP"
    } else if (line ~ /^  -/) {
      section("OPTIONS")
      if (length(line) < column || substr(line, column - 1, 1) != " ") option(line)
      else {
        option(substr(line, 1, column - 1))
        filled(substr(line, column))
      }
    } else if (line ~ /^exit codes:/) {
      section("EXIT STATUS")
      filled(substr(line, 12))
    } else if (line ~ /:$/ && help[n + 1] ~ /^  /) {
      section("EXAMPLES")
      filled(line)
    } else if (current == "EXAMPLES") {
      print ".PP\n.nf\n.RS 2"
      literal(substr(line, 3))
      print ".RE\n.fi"
    } else filled(line)
  }
}

# Lines of --defaults: sections, and keys with their defaults below their comments.
function page_of_defaults(n, line, comment) {
  section("CASE FILE")
  for (n = 1; n <= keys; n++) {
    line = defaults[n]
    if (line ~ /^(# )?\[.*\]$/) {
      sub(/^# /, "", line)
      print ".SS " roff(line)
    } else if (line ~ /^(# )?[a-z_]+ =/) {
      print ".PP\n\\fB" roff(line) "\\fR\n.RS 4"
      filled(comment)
      print ".RE"
      comment = ""
    } else {
      if (comment != "") filled(comment)
      comment = substr(line, 3)
      if (line != "" && defaults[n - 1] == "") print ".PP"
    }
  }
  if (comment != "") filled(comment)
}
