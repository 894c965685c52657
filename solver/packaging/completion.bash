# shellcheck shell=bash disable=SC2207 # IFS is a newline; zsh has no mapfile
# Completion of PROGRAM: options, keys of a case and their values, case files and file names. Made when PROGRAM was
# built, from what it prints.

# What may follow an option or a key: words, <file>, <any>, or nothing for an option that stands alone.
_PROGRAM_follows() {
  local follows=''
  case $1 in
    VALUES
  esac
  printf '%s' "$follows"
}

_PROGRAM() {
  local IFS=$'\n'
  local options=OPTIONS
  local keys=KEYS
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} name='' glued='' follows=''
  # Bash splits words at =, unless COMP_WORDBREAKS has been changed; zsh does not.
  if [[ $word == = ]]; then
    name=$before word=''
  elif [[ $before == = ]]; then
    name=${COMP_WORDS[COMP_CWORD - 2]}
  elif [[ $word == -* ]]; then
    name=''
  elif [[ $word == *=* ]]; then
    name=${word%%=*} glued=${word%%=*}= word=${word#*=}
  elif [[ $before == -* ]]; then
    name=$before
  fi
  COMPREPLY=()
  follows=$(_PROGRAM_follows "$name")
  case $follows in
    '<any>') ;;
    '<file>')
      COMPREPLY=($(compgen -f -- "$word"))
      if [[ -z $glued ]]; then compopt -o filenames 2>/dev/null; fi
      ;;
    ?*) COMPREPLY=($(compgen -W "${follows// /$IFS}" -- "$word")) ;;
    *)
      if [[ $name == *.* ]]; then return; fi
      if [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$word"))
      elif [[ -n $keys ]]; then
        COMPREPLY=($(compgen -W "$keys" -- "$word"))
        if [[ ${#COMPREPLY[@]} -gt 0 ]]; then
          compopt -o nospace 2>/dev/null
        else
          compopt -o filenames 2>/dev/null
        fi
        COMPREPLY+=($(compgen -f -X '!*.ini' -- "$word") $(compgen -d -- "$word"))
      fi
      ;;
  esac
  COMPREPLY=("${COMPREPLY[@]/#/$glued}")
}
complete -F _PROGRAM PROGRAM
