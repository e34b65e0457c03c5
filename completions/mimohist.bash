_mimohist_completion() {
    local IFS=$'\n' out value
    COMPREPLY=()
    out=$(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD="$COMP_CWORD" \
              _MIMOHIST_COMPLETE=complete_bash "$1" 2>/dev/null) || return 0
    while IFS= read -r value; do
        [ -n "$value" ] && COMPREPLY+=("$(printf %q "$value")")
    done <<< "$out"
    return 0
}

complete -o default -F _mimohist_completion mimohist
