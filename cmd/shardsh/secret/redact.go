package secret

import (
	"regexp"
	"slices"
	"strings"

	gateway "shardsh/bindings/server"
)

// secretParameters are the parameters of connection strings that may contain a password or a token.
var secretParameters = []string{"tlsCertificateKeyFilePassword", "sslClientCertificateKeyPassword",
	"authMechanismProperties", "proxyPassword"}

// IsSecretParameter reports whether a parameter of connection strings may contain a password or a
// token.
func IsSecretParameter(name string) bool {
	return slices.ContainsFunc(secretParameters, func(p string) bool { return strings.EqualFold(p, name) })
}

var secretParameterPattern = regexp.MustCompile(`(?i)((?:` + strings.Join(secretParameters, "|") + `)=)[^&;\s"']+`)

// Redact hides the credentials of connection strings in a text.
func Redact(text string) string {
	return secretParameterPattern.ReplaceAllString(gateway.Redact(text), "${1}<credentials>")
}
