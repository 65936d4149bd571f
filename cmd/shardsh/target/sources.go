package target

import (
	"strings"

	"shardsh/cmd/shardsh/secret"
)

// Setting is a connection setting and its origin. Value is redacted: a password is only reported as
// present.
type Setting struct{ Name, Value, From string }

const (
	fromAddress = "the address"
	fromDefault = "the default"
)

// SettingOrigins returns the source of each part of the connection string, which results from the address and
// the options.
func (d Dialer) SettingOrigins(s ConnectionFlags, c *ConnectionString) ([]Setting, error) {
	written, err := s.baseConnectionString()
	if err != nil {
		return nil, err
	}
	list := []Setting{{"hosts", strings.Join(c.hosts, ", "), s.hostsOrigin()}}
	if c.scheme == schemeSRV {
		list[0].Name, list[0].From = "SRV", fromAddress+", to be looked up"
	}
	list = append(list, d.loginOrigins(s, c)...)
	for _, p := range c.query {
		value, _ := c.get(p.name)
		if secret.IsSecretParameter(p.name) {
			value = "set, not shown"
		}
		list = append(list, Setting{p.name, value, s.parameterOrigin(written, p.name)})
	}
	return list, nil
}

func (s ConnectionFlags) hostsOrigin() string {
	switch {
	case s.Host != "":
		return "--host"
	case IsURI(s.Address), strings.ContainsAny(s.Address, ".:"):
		return fromAddress
	case s.Port != "":
		return "--port, and " + fromDefault + " host"
	}
	return fromDefault
}

// loginOrigins returns the user, and the source of the password.
func (d Dialer) loginOrigins(s ConnectionFlags, c *ConnectionString) []Setting {
	if c.user == nil {
		return []Setting{{"user", "none", fromDefault}}
	}
	from := fromAddress
	if s.Username != "" {
		from = "--username"
	}
	list := []Setting{{"user", *c.user, from}}
	inVariable, _ := d.Getenv(PasswordVariable)
	switch {
	case s.PasswordFile != "":
		from = "--passwordFile"
	case s.Password.Value != "":
		from = "--password"
	case c.password != nil && *c.password != "":
		from = fromAddress
	case !wantsPassword(c):
		return list
	case inVariable != "":
		from = PasswordVariable
	default:
		return append(list, Setting{"password", "prompted for", "the terminal"})
	}
	return append(list, Setting{"password", "set, not shown", from})
}

// parameterOrigin returns the source of a parameter.
func (s ConnectionFlags) parameterOrigin(written *ConnectionString, name string) string {
	for _, p := range s.parameters() {
		if !strings.EqualFold(p.name, name) {
			continue
		}
		switch {
		case p.name == "authSource":
			return "--authenticationDatabase"
		case p.name == "authMechanism":
			return "--authenticationMechanism"
		case p.name == "tls" && !s.tls.enabled.Given:
			return "another TLS option"
		}
		return "--" + p.name
	}
	if _, ok := written.get(name); ok {
		return fromAddress
	}
	return fromDefault
}
