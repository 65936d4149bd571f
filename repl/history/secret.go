package history

import "regexp"

// The patterns of inputs that may contain a password (rules/04-command-line-and-prompt §2.8, and more):
// functions and commands with a password argument, as whole words; names of secrets that get a value as
// a field, a variable or an option; the texts of keys and of credentials; and connection strings with a
// user, even invalid ones. The patterns are generous: a password that is not escaped may contain nearly
// any character.
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

// IsSensitive reports whether an input may contain a password. Such inputs are stored neither in the
// history file nor for the keys that recall inputs, unless the user wants to store all inputs.
func IsSensitive(input string) bool {
	for _, sign := range []*regexp.Regexp{secretWords, secretNames, secretTexts, secretAddress} {
		if sign.MatchString(input) {
			return true
		}
	}
	return false
}

// RedactMode is a method of handling inputs before they are stored.
type RedactMode int

const (
	// Remove drops inputs for which IsSensitive returns true.
	Remove RedactMode = iota
	// RemoveRedact does the same as Remove, and redacts personal data and addresses in the stored
	// inputs.
	RemoveRedact
	// Keep stores all inputs unchanged.
	Keep
)

// ParseRedactMode converts a value of config: "remove", "remove-redact" or "keep"; any other value is
// Remove.
func ParseRedactMode(name string) RedactMode {
	return map[string]RedactMode{"remove-redact": RemoveRedact, "keep": Keep}[name]
}

// redactions redact, in this order, connection strings, other URLs, e-mail addresses, IP addresses,
// user names in paths, and binary data.
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
