package main

import (
	"slices"
	"strconv"
	"strings"
)

// server says how to reach a live cluster: the address and the options
// beside it.
type server struct {
	address    string
	host, port string

	username      string
	password      password
	passwordFile  string
	authDatabase  string
	authMechanism string

	tls         tlsOptions
	retryWrites choice

	apiVersion           string
	apiStrict            bool
	apiDeprecationErrors bool
}

// password is a password on the command line: given without a value, it is
// asked for.
type password struct {
	given bool
	value string
}

func (p *password) String() string { return "" } // never shown
func (p *password) Type() string   { return "password" }

func (p *password) Set(text string) error {
	*p = password{given: true, value: text}
	return nil
}

// named reports whether anything says that a live cluster is meant.
func (s server) named() bool {
	return s.address != "" || s.host != "" || s.port != "" || s.option() != ""
}

// option returns the first option that only makes sense with a live cluster.
func (s server) option() string {
	for _, o := range []struct {
		name  string
		given bool
	}{
		{"--username", s.username != ""},
		{"--password", s.password.given},
		{"--passwordFile", s.passwordFile != ""},
		{"--authenticationDatabase", s.authDatabase != ""},
		{"--authenticationMechanism", s.authMechanism != ""},
		{"--tls", s.tls.given()},
	} {
		if o.given {
			return o.name
		}
	}
	return ""
}

// mechanisms are what --authenticationMechanism takes.
var mechanisms = []string{"SCRAM-SHA-256", "SCRAM-SHA-1", "MONGODB-X509", "PLAIN", "MONGODB-AWS", "MONGODB-OIDC"}

// errKerberos is for the one mechanism of mongosh that needs a library of C.
var errKerberos = usagef("Kerberos is not built in; log in by %s", strings.Join(mechanisms, ", "))

func (s server) check() error {
	hasUser := s.username != "" || strings.Contains(s.address, "@")
	switch {
	case s.password.given && !hasUser:
		return usagef("--password needs --username%s", s.portHint())
	case s.passwordFile != "" && !hasUser:
		return usagef("--passwordFile needs --username")
	case s.passwordFile != "" && s.password.given:
		return usagef("--password and --passwordFile exclude each other")
	case s.authMechanism == "GSSAPI":
		return errKerberos
	case s.authMechanism != "" && !slices.Contains(mechanisms, s.authMechanism):
		return usagef("--authenticationMechanism takes %s, not %q", strings.Join(mechanisms, ", "), s.authMechanism)
	case isURI(s.password.value):
		return usagef("--password was given a connection string; put --password last to be asked for it")
	case s.apiVersion != "" && s.apiVersion != "1":
		return usagef("--apiVersion takes 1, not %q", s.apiVersion)
	case s.apiVersion == "" && s.apiStrict:
		return usagef("--apiStrict needs --apiVersion 1")
	case s.apiVersion == "" && s.apiDeprecationErrors:
		return usagef("--apiDeprecationErrors needs --apiVersion 1")
	}
	return s.tls.check()
}

// portHint says that -p is no port.
func (s server) portHint() string {
	if s.port == "" && s.password.value != "" && validPort(s.password.value) {
		return "; -p is short for --password, not for --port"
	}
	return ""
}

// parameters returns those of the connection string that options set.
func (s server) parameters() []parameter {
	list := s.tls.parameters()
	if s.authDatabase != "" {
		list = append(list, parameter{"authSource", s.authDatabase})
	}
	if s.authMechanism != "" {
		list = append(list, parameter{"authMechanism", s.authMechanism})
	}
	if s.retryWrites.given {
		list = append(list, parameter{"retryWrites", strconv.FormatBool(s.retryWrites.on)})
	}
	return list
}
