package history

import "regexp"

// What makes an input one that may hold a password (rules/04-command-line-and-prompt §2.8, and more):
// the functions and commands that take one, as whole words; names that say so and get a value, as a
// field, a variable or an option; the texts of keys and of logins; and a connection string, or what is
// meant for one, with a user in it. All of it is generous: a password that is not escaped may hold
// nearly anything.
var (
	secretWords = regexp.MustCompile(`\b(?:createUser|addUser|auth|authenticate|updateUser|changeUserPassword|connect|` +
		`Mongo|saslStart|saslContinue|copydb)\b`)
	secretNames = regexp.MustCompile(`(?i)(?:\b|_|[a-z0-9])(?:(?:pwd|pw|pass)[\d_$]*|(?:passw(?:or)?d|passphrase|secret|` +
		`token|credentials?|api_?key|access_?key|private_?key|key_?file|master_?key|local_?key)[\w$]*)["'` + "`" +
		`]?\]?\s*(?:[:=][^=>]|,\s*["'` + "`" + `])`)
	secretTexts = regexp.MustCompile(`(?i)-----BEGIN |\bauthorization\b|\bbearer\s|--password\b|\s-p\s|` +
		`AWS_SESSION_TOKEN`)
	secretAddress = regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*:/+[^\s"'` + "`" + `/]*:[^\s"'` + "`" + `]*@|` +
		`mongodb(?:\+srv)?:/+[^\s"'` + "`" + `]*@|["'` + "`" + `][\w.%+-]+:[^\s"'` + "`" + `@]+@[\w\[]`)
)

// IsSensitive is true for an input that may hold a password. Such inputs are not
// kept, neither in the history file nor for the keys that go back, unless the
// user wants all kept.
func IsSensitive(input string) bool {
	for _, sign := range []*regexp.Regexp{secretWords, secretNames, secretTexts, secretAddress} {
		if sign.MatchString(input) {
			return true
		}
	}
	return false
}

// Redact is a way to treat inputs before they are kept.
type Redact int

const (
	// Remove keeps no input that is IsSensitive.
	Remove Redact = iota
	// RemoveRedact is Remove, and takes what tells of people and machines out of
	// the inputs that are kept.
	RemoveRedact
	// Keep keeps all inputs as they are.
	Keep
)

// ParseRedact finds the way that config calls "remove", "remove-redact" or
// "keep"; any other name is Remove.
func ParseRedact(name string) Redact {
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

func redact(input string) string {
	for _, r := range redactions {
		input = r.what.ReplaceAllString(input, r.with)
	}
	return input
}
