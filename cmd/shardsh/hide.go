package main

import (
	"strings"
	"unsafe"
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
		set[fold(n)] = true
	}
	return set
}

// hidePasswords overwrites passwords in the memory that the system shows as
// this process's command line, so that ps does not tell them. The runtime
// makes os.Args point into that memory; where it does not, or where the memory
// can't be written, other systems included, nothing is lost but this. The
// arguments must have been copied before.
func hidePasswords(args []string) {
	for _, s := range secretsIn(args) {
		shown := unsafe.Slice(unsafe.StringData(args[s.arg]), len(args[s.arg]))
		for i := s.from; i < s.to; i++ {
			shown[i] = 'x'
		}
	}
}

// secret is a piece of an argument.
type secret struct{ arg, from, to int }

// secretsIn finds the passwords of a command line.
func secretsIn(args []string) []secret {
	var found []secret
	options := secretOptions()
	for i, arg := range args {
		for _, s := range passwordsIn(arg) {
			found = append(found, secret{i, s.from, s.to})
		}
		name, value, hasValue := strings.Cut(arg, "=")
		long, isLong := strings.CutPrefix(name, "--")
		switch {
		case isLong && options[fold(long)] || name == "-p":
			if hasValue {
				found = append(found, secret{i, len(arg) - len(value), len(arg)})
			} else if i+1 < len(args) && !strings.HasPrefix(args[i+1], "--") {
				found = append(found, secret{i + 1, 0, len(args[i+1])})
			}
		case !isLong && strings.HasPrefix(arg, "-p"):
			found = append(found, secret{i, len("-p"), len(arg)}) // refused, but seen
		}
	}
	return found
}

// passwordsIn finds those of connection strings, wherever they are in an
// argument: an address, or JavaScript.
func passwordsIn(arg string) []secret {
	var found []secret
	for _, m := range writtenCredentials.FindAllStringIndex(arg, -1) {
		match := arg[m[0]:m[1]]
		start := m[0] + strings.Index(match, "://") + len("://")
		if colon := strings.IndexByte(arg[start:m[1]], ':'); colon >= 0 {
			found = append(found, secret{from: start + colon + 1, to: m[1] - 1})
		}
	}
	for _, m := range writtenParameter.FindAllStringSubmatchIndex(arg, -1) {
		found = append(found, secret{from: m[3], to: m[1]})
	}
	return found
}
