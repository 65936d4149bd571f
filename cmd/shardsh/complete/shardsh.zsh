#compdef shardsh
# Completion of shardsh for zsh: source <(shardsh completion zsh), or this file as _shardsh in a
# folder of $fpath.
_shardsh() {
    local line kind word about
    local -a lines described suffixes
    lines=("${(@f)$("${words[1]}" completion words "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
    suffixes=(${=lines[1]})
    kind=$suffixes[1]
    shift suffixes lines
    for line in $lines; do
        word=${line%%$'\t'*} about=${line#*$'\t'}
        described+=("${word//:/\\:}${about:+:$about}")
    done
    (( $#described )) && _describe shardsh described
    case $kind in
    files)
        compset -P '-*='
        if (( $#suffixes )); then _files -g "*(${(j:|:)suffixes})(-.)"; else _files; fi
        ;;
    directories)
        compset -P '-*='
        _files -/
        ;;
    esac
}
if [[ $funcstack[1] == _shardsh ]]; then # loaded from $fpath when it is needed
    _shardsh "$@"
else
    compdef _shardsh shardsh
fi
