package target

import (
	"github.com/spf13/pflag"

	"shardsh/cmd/shardsh/cmdline"
)

// Flags returns the options that say how to reach a live cluster.
func (s *Server) Flags() []cmdline.Group {
	return []cmdline.Group{
		cmdline.NewGroup("Connection", func(f *pflag.FlagSet) {
			f.StringVar(&s.Host, "host", "", "`HOST` connect to this host, host:port or set/host1,host2")
			f.StringVar(&s.Port, "port", "", "`PORT` connect to this port (27017)")
			cmdline.ChoiceVar(f, &s.RetryWrites, "retryWrites", "`true|false` send a write again after a lost connection (true)")
		}),
		cmdline.NewGroup("Authentication", func(f *pflag.FlagSet) {
			f.StringVarP(&s.Username, "username", "u", "", "`NAME` log in as this user")
			f.VarP(&s.Password, "password", "p", "`PASSWORD` without a value it is asked for")
			f.StringVar(&s.PasswordFile, "passwordFile", "", "`FILE` its first line is the password")
			f.StringVar(&s.authDatabase, "authenticationDatabase", "", "`DB` database that knows the user")
			f.StringVar(&s.authMechanism, "authenticationMechanism", "",
				"`NAME` SCRAM-SHA-256, SCRAM-SHA-1, MONGODB-X509, PLAIN or MONGODB-AWS")
			f.Var(&s.awsToken, "awsIamSessionToken", "`TOKEN` of a temporary key of AWS; without a value it is asked for")
		}),
		cmdline.NewGroup("TLS", func(f *pflag.FlagSet) {
			cmdline.ChoiceVar(f, &s.tls.on, "tls", "encrypt all connections")
			f.StringVar(&s.tls.caFile, "tlsCAFile", "", "`FILE` certificates of the authorities to trust")
			f.StringVar(&s.tls.keyFile, "tlsCertificateKeyFile", "", "`FILE` our certificate and its key")
			f.Var(&s.tls.keyPassword, "tlsCertificateKeyFilePassword", "`PASSWORD` of that key; asked for when needed")
			f.StringVar(&s.tls.crlFile, "tlsCRLFile", "", "`FILE` list of revoked certificates")
			cmdline.ChoiceVar(f, &s.tls.allowInvalidCertificates, "tlsAllowInvalidCertificates", "don't check certificates")
			cmdline.ChoiceVar(f, &s.tls.allowInvalidHostnames, "tlsAllowInvalidHostnames", "don't check host names")
			f.StringVar(&s.tls.disabledProtocols, "tlsDisabledProtocols", "", "`LIST` of TLS1_0,TLS1_1,TLS1_2,TLS1_3")
			cmdline.ChoiceVar(f, &s.tls.useSystemCA, "tlsUseSystemCA", "trust this system's authorities, too")
		}),
		cmdline.NewGroup("Stable API", func(f *pflag.FlagSet) {
			f.StringVar(&s.APIVersion, "apiVersion", "", "`1` version of the API to ask for")
			f.BoolVar(&s.apiStrict, "apiStrict", false, "refuse commands outside of it")
			f.BoolVar(&s.apiDeprecationErrors, "apiDeprecationErrors", false, "refuse its deprecated commands")
		}),
	}
}
