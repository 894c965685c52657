# The completion of a program in bash, from what it prints with --help and, if it reads cases, with --defaults:
#   awk -v name=sp_solve -f completion.awk completion.bash HELP [DEFAULTS]
# The template is completion.bash. Each option and key has one line of a case statement, with what may follow it: words,
# <file>, <any>, or nothing for an option that stands alone.

function words(text) { # "a, b or c" or "a, b, c" as "a b c"; empty if it is something else
  if (text !~ /^[a-z0-9.-]+(, [a-z0-9.-]+)*( or [a-z0-9.-]+)?$/ || text !~ /,| or /) return ""
  gsub(/,| or/, " ", text)
  gsub(/ +/, " ", text)
  return text
}

function follows(item, what) {
  values = values "    " item ") follows='" what "' ;;\n"
}

function option(item, what) {
  if (!(item in known)) options = options (options == "" ? "" : "\n") item
  if (!(item in known)) follows(item, what)
  known[item] = 1
}

BEGIN { option("--help", "") }

FILENAME != file { file = FILENAME; files++ }
files == 1 { template[++lines] = $0; next }

# Options of --help begin with two blanks.
files == 2 {
  if (/^  -/) {
    count = 0
    for (w = 1; $w ~ /^-/; w++) {
      sub(/,$/, "", $w)
      heads[++count] = $w
    }
    what = ""
    if ($w == "FILE") what = "<file>"
    else if ($w ~ /^[A-Z]+(=|$)/) what = "<any>"
    text = $0
    sub(/^ *(-[^ ]* )+[^ ]+ +(of )?/, "", text)
    sub(/ *[(:].*/, "", text)
    if (what == "<any>" && words(text) != "") what = words(text)
    for (h = 1; h <= count; h++) option(heads[h], what)
  }
}

# A key of --defaults has what it may be in the parentheses that end its comment.
files == 3 {
  if (/^(# )?\[.*\]$/) {
    section = ""
    if ($0 ~ /^\[[a-z]+\]$/) section = substr($0, 2, length($0) - 2)
  } else if (/^(# )?[a-z_]+ =/ && section != "") {
    sub(/^# /, "")
    sub(/ =.*/, "")
    keys = keys (keys == "" ? "" : "\n") section "." $0 "="
    what = kind
    if (kind == "text") what = "<file>"
    else what = words(kind) != "" ? words(kind) : "<any>"
    follows(section "." $0, what)
  }
  kind = ""
  if (/^# .*\)$/) {
    kind = $0
    sub(/.*\(/, "", kind)
    sub(/\)$/, "", kind)
  }
}

END {
  if (files < 2) exit 1
  for (n = 1; n <= lines; n++) {
    line = template[n]
    gsub(/PROGRAM/, name, line)
    if (line ~ /OPTIONS$/) sub(/OPTIONS/, "'" options "'", line)
    else if (line ~ /KEYS$/) sub(/KEYS/, "'" keys "'", line)
    if (line ~ /^ *VALUES$/) printf "%s", values
    else print line
  }
}
