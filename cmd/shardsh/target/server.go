package target

import (
	"slices"
	"strconv"
	"strings"

	"shardsh/cmd/shardsh/cmdline"
)

// ConnectionFlags holds the address of a live cluster, and the options of the connection.
type ConnectionFlags struct {
	Address    string
	Host, Port string

	Username      string
	Password      cmdline.Password
	PasswordFile  string
	authDatabase  string
	authMechanism string
	awsToken      cmdline.Password

	tls         tlsOptions
	RetryWrites cmdline.OptionalBool

	APIVersion           string
	apiStrict            bool
	apiDeprecationErrors bool
}

// IsSet reports whether an address or any connection option was given.
func (s ConnectionFlags) IsSet() bool {
	return s.Address != "" || s.Host != "" || s.Port != "" || s.FirstLiveOption() != ""
}

// FirstLiveOption returns the first option that only makes sense with a live cluster.
func (s ConnectionFlags) FirstLiveOption() string {
	for _, o := range []struct {
		name  string
		given bool
	}{
		{"--username", s.Username != ""},
		{"--password", s.Password.Given},
		{"--passwordFile", s.PasswordFile != ""},
		{"--authenticationDatabase", s.authDatabase != ""},
		{"--authenticationMechanism", s.authMechanism != ""},
		{"--awsIamSessionToken", s.awsToken.Given},
		{"--tls", s.tls.isSet()},
	} {
		if o.given {
			return o.name
		}
	}
	return ""
}

// Mechanisms returns the values of --authenticationMechanism.
func Mechanisms() []string {
	return []string{"SCRAM-SHA-256", "SCRAM-SHA-1", "MONGODB-X509", "PLAIN", "MONGODB-AWS", "MONGODB-OIDC"}
}

// errKerberos is the error for the only mechanism of mongosh that needs a C library.
var errKerberos = cmdline.Usagef("Kerberos is not supported, as it needs a C library; log in by %s",
	strings.Join(Mechanisms(), ", "))

// Check returns a usage error for invalid combinations.
func (s ConnectionFlags) Check() error {
	hasUser := s.Username != "" || strings.Contains(s.Address, "@")
	switch {
	case s.Password.Given && !hasUser:
		return cmdline.Usagef("--password needs --username%s", s.portHint())
	case s.PasswordFile != "" && !hasUser:
		return cmdline.Usagef("--passwordFile needs --username")
	case s.PasswordFile != "" && s.Password.Given:
		return cmdline.Usagef("--password and --passwordFile exclude each other")
	case s.authMechanism == "GSSAPI":
		return errKerberos
	case s.authMechanism != "" && !slices.Contains(Mechanisms(), s.authMechanism):
		return cmdline.Usagef("--authenticationMechanism takes %s, not %q", strings.Join(Mechanisms(), ", "), s.authMechanism)
	case IsURI(s.Password.Value):
		return cmdline.Usagef("--password was given a connection string; put --password last to be asked for it")
	case s.APIVersion != "" && s.APIVersion != "1":
		return cmdline.Usagef("--apiVersion takes 1, not %q", s.APIVersion)
	case s.APIVersion == "" && s.apiStrict:
		return cmdline.Usagef("--apiStrict needs --apiVersion 1")
	case s.APIVersion == "" && s.apiDeprecationErrors:
		return cmdline.Usagef("--apiDeprecationErrors needs --apiVersion 1")
	}
	return s.tls.check()
}

// portHint explains that -p is not the port.
func (s ConnectionFlags) portHint() string {
	if s.Port == "" && s.Password.Value != "" && isValidPort(s.Password.Value) {
		return "; -p is short for --password, not for --port"
	}
	return ""
}

// parameters returns the parameters of the connection string that options set.
func (s ConnectionFlags) parameters() []parameter {
	list := s.tls.parameters()
	if s.authDatabase != "" {
		list = append(list, parameter{"authSource", s.authDatabase})
	}
	if s.authMechanism != "" {
		list = append(list, parameter{"authMechanism", s.authMechanism})
	}
	if s.RetryWrites.Given {
		list = append(list, parameter{"retryWrites", strconv.FormatBool(s.RetryWrites.On)})
	}
	return list
}
