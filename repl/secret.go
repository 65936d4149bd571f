package repl

import "regexp"

// secretWords are those of functions and commands that take a password
// (spec 04 §2.8), as whole words. secretAddress is a connection string with a
// user in it; it is generous, as a password that is not escaped may hold nearly
// anything.
var (
	secretWords   = regexp.MustCompile(`\b(?:createUser|auth|updateUser|changeUserPassword|connect|Mongo)\b`)
	secretAddress = regexp.MustCompile(`(?i)mongodb(?:\+srv)?://[^\s"'` + "`" + `]*@`)
)

// Sensitive is true for an input that may hold a password. Such inputs are
// never kept, neither in the history file nor for the keys that go back.
func Sensitive(input string) bool {
	return secretWords.MatchString(input) || secretAddress.MatchString(input)
}
