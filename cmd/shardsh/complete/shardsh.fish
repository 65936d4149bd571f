# Completion of shardsh for fish: shardsh completion fish | source
function __shardsh_complete
    set -l tokens (commandline -opc)
    set -l current (commandline -ct)
    set -l lines ($tokens[1] completion words $tokens[2..-1] "$current" 2>/dev/null)
    set -l kinds (string split ' ' -- $lines[1])
    printf '%s\n' $lines[2..-1]
    set -l before (string match -r -- '^-[^=]*=' "$current")
    set -l path (string replace -r -- '^-[^=]*=' '' "$current")
    switch "$kinds[1]"
        case files
            for name in (__fish_complete_path "$path")
                set -l word (string split \t -- $name)[1]
                if test (count $kinds) -gt 1; and not string match -q -- '*/' $word
                    set -l fits 0
                    for suffix in $kinds[2..-1]
                        string match -q -- "*$suffix" $word; and set fits 1
                    end
                    test $fits = 1; or continue
                end
                printf '%s\n' "$before$word"
            end
        case directories
            for name in (__fish_complete_directories "$path")
                printf '%s\n' "$before"(string split \t -- $name)[1]
            end
    end
end
complete -c shardsh -f -a '(__shardsh_complete)'
