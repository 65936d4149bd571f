package secret

import (
	"regexp"
	"slices"
	"strings"

	gateway "shardsh/bindings/server"
)

// parameters of connection strings that may hold a password or a token.
var parameters = []string{"tlsCertificateKeyFilePassword", "sslClientCertificateKeyPassword",
	"authMechanismProperties", "proxyPassword"}

// Parameter reports whether a parameter of connection strings may hold a password or a
// token.
func Parameter(name string) bool {
	return slices.ContainsFunc(parameters, func(p string) bool { return strings.EqualFold(p, name) })
}

var writtenParameter = regexp.MustCompile(`(?i)((?:` + strings.Join(parameters, "|") + `)=)[^&;\s"']+`)

// Redact hides the credentials of connection strings in a text.
func Redact(text string) string {
	return writtenParameter.ReplaceAllString(gateway.Redact(text), "${1}<credentials>")
}
