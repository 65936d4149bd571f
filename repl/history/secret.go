package history

import "regexp"

// secretWords are those of functions, commands and fields that take a password
// (spec 04 §2.8), as whole words. secretAddress is a connection string with a
// user in it; it is generous, as a password that is not escaped may hold nearly
// anything.
var (
	secretWords = regexp.MustCompile(`\b(?:createUser|auth|updateUser|changeUserPassword|connect|Mongo)\b|` +
		`\bpwd["']?\s*:`)
	secretAddress = regexp.MustCompile(`(?i)mongodb(?:\+srv)?://[^\s"'` + "`" + `]*@`)
)

// Sensitive is true for an input that may hold a password. Such inputs are not
// kept, neither in the history file nor for the keys that go back, unless the
// user wants all kept.
func Sensitive(input string) bool {
	return secretWords.MatchString(input) || secretAddress.MatchString(input)
}

// Redact is a way to treat inputs before they are kept.
type Redact int

const (
	// Remove keeps no input that is Sensitive.
	Remove Redact = iota
	// RemoveRedact is Remove, and takes what tells of people and machines out of
	// the inputs that are kept.
	RemoveRedact
	// Keep keeps all inputs as they are.
	Keep
)

// RedactNamed finds the way that config calls "remove", "remove-redact" or
// "keep"; any other name is Remove.
func RedactNamed(name string) Redact {
	return map[string]Redact{"remove-redact": RemoveRedact, "keep": Keep}[name]
}

// redactions take out, in this order, connection strings, other URLs, e-mail
// addresses, IP addresses, the names of users in paths and binary data.
var redactions = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`(?i)\bmongodb(?:\+srv)?://[^\s"'` + "`" + `]+`), "<mongodb uri>"},
	{regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://[^\s"'` + "`" + `]+`), "<url>"},
	{regexp.MustCompile(`[\w.+-]+@[\w-]+\.[\w.-]*\w`), "<email>"},
	{regexp.MustCompile(`\b(?:\d{1,3}\.){3}\d{1,3}\b`), "<ip address>"},
	{regexp.MustCompile(`(?i)\b(?:[0-9a-f]{1,4}:){3,7}[0-9a-f]{1,4}\b|\b(?:[0-9a-f]{1,4}:)+:(?:[0-9a-f]{1,` +
		`4}\b)?|::[0-9a-f]{1,4}\b`), "<ip address>"},
	{regexp.MustCompile(`((?:/home|/Users|\\Users)[/\\])[^/\\\s"']+`), "$1<user>"},
	{regexp.MustCompile(`\bBinData\(\s*(\d+)\s*,[^)]*\)`), "BinData($1, <data>)"},
}

func redacted(input string) string {
	for _, r := range redactions {
		input = r.what.ReplaceAllString(input, r.with)
	}
	return input
}
