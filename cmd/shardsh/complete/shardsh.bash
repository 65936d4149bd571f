# Completion of shardsh for bash: source <(shardsh completion bash)
_shardsh() {
    local line=${COMP_LINE:0:COMP_POINT} current=$2 kind suffixes word about name suffix
    local -a words=() names=()
    COMPREPLY=()
    # bash ends a word at = and :, so only what comes after them is replaced.
    [[ $current == [=:] ]] && current=
    local whole=${line##*[[:space:]]}
    local before=${whole%"$current"}
    {
        read -r kind suffixes
        while IFS=$'\t' read -r word about; do
            words+=("${word#"$before"}")
        done
    } < <("$1" completion line "$line" 2>/dev/null)
    case $kind in
    files)
        while IFS= read -r name; do
            if [[ -z $suffixes || -d $name ]]; then
                names+=("$name")
                continue
            fi
            for suffix in $suffixes; do
                [[ $name == *"$suffix" ]] && names+=("$name")
            done
        done < <(compgen -f -- "$current")
        ;;
    directories)
        while IFS= read -r name; do names+=("$name"); done < <(compgen -d -- "$current")
        ;;
    esac
    [[ ${#words[@]} == 1 && ${words[0]} == *= ]] && compopt -o nospace 2>/dev/null
    [[ ${#names[@]} -gt 0 ]] && compopt -o filenames 2>/dev/null
    COMPREPLY=(${words[@]+"${words[@]}"} ${names[@]+"${names[@]}"})
}
complete -F _shardsh shardsh
