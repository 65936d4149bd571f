package secret

import (
	"regexp"
	"slices"
	"strings"
	"unsafe"

	"shardsh/balancer/mock/commands"
	gateway "shardsh/bindings/server"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/repl/history"
)

// secretOptions returns the options whose values are passwords. It includes those that shardsh rejects,
// because they were on the command line nevertheless.
func secretOptions() map[string]bool {
	names := []string{
		"password", "tlsCertificateKeyFilePassword", "sslPEMKeyPassword",
		"awsSecretAccessKey", "awsSessionToken", "awsIamSessionToken",
	}
	set := make(map[string]bool, len(names))
	for _, n := range names {
		set[cmdline.Fold(n)] = true
	}
	return set
}

// HideInProcessList overwrites passwords in the memory that the system shows as this process's command
// line, so that ps does not show them. The runtime makes os.Args point into that memory. Where it does
// not, or where the memory can't be written, such as on other systems, HideInProcessList has no effect.
// The arguments must have been copied before.
func HideInProcessList(args []string) {
	for _, s := range findSecrets(args) {
		shown := unsafe.Slice(unsafe.StringData(args[s.arg]), len(args[s.arg]))
		for i := s.from; i < s.to; i++ {
			shown[i] = 'x'
		}
	}
}

// MaskSecrets returns the words of a command line with secrets masked.
func MaskSecrets(args []string) []string {
	shown := slices.Clone(args)
	for _, s := range findSecrets(args) {
		word := shown[s.arg]
		shown[s.arg] = word[:s.from] + strings.Repeat("x", s.to-s.from) + word[s.to:]
	}
	return shown
}

// isSecretOption reports whether the value of an option may be a secret, rather than a file with one.
// This includes options of scripts and misspelled options.
func isSecretOption(option string) bool {
	name := cmdline.Fold(option)
	return (commands.IsSecretName(name) || strings.HasPrefix(name, "pas")) && !strings.HasSuffix(name, "file")
}

// definesSecret reports whether an argument is the NAME=VALUE of --set or --setJSON with a name that
// stands for a secret.
func definesSecret(args []string, i int) bool {
	defines := func(option string) bool {
		return strings.HasPrefix(option, "--") && strings.HasPrefix(cmdline.Fold(option), "set")
	}
	name, value, _ := strings.Cut(args[i], "=")
	if defines(name) {
		name, _, _ = strings.Cut(value, "=")
	} else if i == 0 || !defines(args[i-1]) || strings.Contains(args[i-1], "=") {
		return false
	}
	return value != "" && commands.IsSecretName(name)
}

// argSpan is a part of an argument.
type argSpan struct{ arg, from, to int }

// findSecrets finds the passwords of a command line.
func findSecrets(args []string) []argSpan {
	var found []argSpan
	options := secretOptions()
	for i, arg := range args {
		for _, s := range findPasswords(arg) {
			found = append(found, argSpan{i, s.from, s.to})
		}
		name, value, hasValue := strings.Cut(arg, "=")
		long, isLong := strings.CutPrefix(name, "--")
		switch {
		case definesSecret(args, i):
			found = append(found, argSpan{i, len(arg) - len(value), len(arg)})
		case isLong && (options[cmdline.Fold(long)] || isSecretOption(long)) || name == "-p":
			if hasValue {
				found = append(found, argSpan{i, len(arg) - len(value), len(arg)})
			} else if i+1 < len(args) && !strings.HasPrefix(args[i+1], "--") {
				found = append(found, argSpan{i + 1, 0, len(args[i+1])})
			}
		case !isLong && strings.HasPrefix(arg, "-p"):
			found = append(found, argSpan{i, len("-p"), len(arg)}) // rejected, but visible
		}
	}
	return found
}

// findPasswords finds passwords of connection strings anywhere in an argument, which may be an address
// or JavaScript. In JavaScript that may contain a password in another form, every quoted string counts
// as a password.
func findPasswords(arg string) []argSpan {
	var found []argSpan
	for _, m := range gateway.CredentialsPattern.FindAllStringSubmatchIndex(arg, -1) {
		start := max(m[0], m[3]) // after the scheme
		if colon := strings.IndexByte(arg[start:m[1]], ':'); colon >= 0 {
			found = append(found, argSpan{from: start + colon + 1, to: m[1] - 1})
		}
	}
	for _, m := range secretParameterPattern.FindAllStringSubmatchIndex(arg, -1) {
		found = append(found, argSpan{from: m[3], to: m[1]})
	}
	if history.IsSensitive(arg) {
		for _, m := range quotedPattern.FindAllStringIndex(arg, -1) {
			found = append(found, argSpan{from: m[0] + 1, to: m[1] - 1})
		}
	}
	return found
}

// quotedPattern matches a string literal of JavaScript or JSON.
var quotedPattern = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|` + "`[^`]*`")
