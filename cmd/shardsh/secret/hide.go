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

// secretOptions have a password as their value. Those that refusedOptions
// names are here, too: they were on the command line all the same.
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

// Hide overwrites passwords in the memory that the system shows as
// this process's command line, so that ps does not tell them. The runtime
// makes os.Args point into that memory; where it does not, or where the memory
// can't be written, other systems included, nothing is lost but this. The
// arguments must have been copied before.
func Hide(args []string) {
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

// isSecretOption reports whether the value of an option may be a secret, be it one
// of a script or mistyped, rather than a file with one.
func isSecretOption(option string) bool {
	name := cmdline.Fold(option)
	return (commands.IsSecretName(name) || strings.HasPrefix(name, "pas")) && !strings.HasSuffix(name, "file")
}

// definesSecret reports whether an argument is the NAME=VALUE of --set or
// --setJSON, and the name is that of a secret.
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

// argSpan is a piece of an argument.
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
			found = append(found, argSpan{i, len("-p"), len(arg)}) // refused, but seen
		}
	}
	return found
}

// findPasswords finds those of connection strings, wherever they are in an
// argument: an address, or JavaScript. Of JavaScript that may have a password in
// other words, all quoted text is one.
func findPasswords(arg string) []argSpan {
	var found []argSpan
	for _, m := range gateway.Credentials.FindAllStringSubmatchIndex(arg, -1) {
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

// quotedPattern is a string as JavaScript and JSON write it.
var quotedPattern = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|` + "`[^`]*`")
