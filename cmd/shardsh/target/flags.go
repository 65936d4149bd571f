package target

import (
	"strings"

	"github.com/spf13/pflag"

	"shardsh/cmd/shardsh/cmdline"
)

// Flags returns the options for the connection to a live cluster.
func (s *ConnectionFlags) Flags() []cmdline.Group {
	return []cmdline.Group{
		cmdline.NewGroup("Connection", func(f *pflag.FlagSet) {
			f.StringVar(&s.Host, "host", "", "`HOST` host, host:port or set/host1,host2")
			f.StringVar(&s.Port, "port", "", "`PORT` port (27017)")
			cmdline.OptionalBoolVar(f, &s.RetryWrites, "retryWrites", "`true|false` retry writes after a lost connection (true)")
		}).OnPage("connection", "Connection"),
		cmdline.NewGroup("Authentication", func(f *pflag.FlagSet) {
			f.StringVarP(&s.Username, "username", "u", "", "`NAME` user name")
			f.VarP(&s.Password, "password", "p", "`PASSWORD` prompt for it if no value is given")
			f.StringVar(&s.PasswordFile, "passwordFile", "", "`FILE` read the password from its first line")
			f.StringVar(&s.authDatabase, "authenticationDatabase", "", "`DB` database in which the user is defined")
			f.StringVar(&s.authMechanism, "authenticationMechanism", "",
				"`NAME` "+strings.Join(Mechanisms(), ", "))
			f.Var(&s.awsToken, "awsIamSessionToken",
				"`TOKEN` session token of temporary AWS credentials; prompts for it if no value is given")
		}).OnPage("connection", "login"),
		cmdline.NewGroup("TLS", func(f *pflag.FlagSet) {
			cmdline.OptionalBoolVar(f, &s.tls.enabled, "tls", "use TLS")
			f.StringVar(&s.tls.caFile, "tlsCAFile", "", "`FILE` CA certificates to trust")
			f.StringVar(&s.tls.keyFile, "tlsCertificateKeyFile", "", "`FILE` client certificate and private key")
			f.Var(&s.tls.keyPassword, "tlsCertificateKeyFilePassword",
				"`PASSWORD` password of that key; prompts for it when needed")
			f.StringVar(&s.tls.crlFile, "tlsCRLFile", "", "`FILE` certificate revocation list")
			cmdline.OptionalBoolVar(f, &s.tls.allowInvalidCertificates, "tlsAllowInvalidCertificates",
				"don't verify certificates")
			cmdline.OptionalBoolVar(f, &s.tls.allowInvalidHostnames, "tlsAllowInvalidHostnames", "don't verify host names")
			f.StringVar(&s.tls.disabledProtocols, "tlsDisabledProtocols", "",
				"`LIST` disable these: TLS1_0,TLS1_1,TLS1_2,TLS1_3")
			cmdline.OptionalBoolVar(f, &s.tls.useSystemCA, "tlsUseSystemCA", "also trust the system's CAs")
		}).OnPage("connection", "TLS"),
		cmdline.NewGroup("Stable API", func(f *pflag.FlagSet) {
			f.StringVar(&s.APIVersion, "apiVersion", "", "`1` version of the Stable API to request")
			f.BoolVar(&s.apiStrict, "apiStrict", false, "refuse commands that are not part of it")
			f.BoolVar(&s.apiDeprecationErrors, "apiDeprecationErrors", false, "refuse commands that it deprecates")
		}).OnPage("connection", ""),
	}
}
