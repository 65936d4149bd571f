package target

import (
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/secret"
)

const (
	scheme    = "mongodb://"
	schemeSRV = "mongodb+srv://"
)

// ConnectionString is a parsed connection string.
type ConnectionString struct {
	scheme   string
	user     *string // decoded; nil without a user
	password *string
	hosts    []string
	Database string // not decoded
	query    []parameter
}

// parameter is one parameter of the query. Its value is not decoded.
type parameter struct{ name, value string }

// IsURI reports whether a string has the scheme of a connection string.
func IsURI(text string) bool {
	return strings.HasPrefix(text, scheme) || strings.HasPrefix(text, schemeSRV)
}

// errCredentials does not repeat the invalid text, because it may be a password.
var errCredentials = errors.New("the user name or password in the connection string holds a character that must be " +
	"percent-encoded (one of : / ? # [ ] @ %); give them with --username and --password instead, or encode them")

// parse parses a connection string. No error repeats any part of the credentials.
func parse(text string) (*ConnectionString, error) {
	c := &ConnectionString{scheme: scheme}
	rest, ok := strings.CutPrefix(text, scheme)
	if !ok {
		rest = strings.TrimPrefix(text, schemeSRV)
		c.scheme = schemeSRV
	}
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	authority, rest := rest[:end], rest[end:]
	path, query, _ := strings.Cut(rest, "?")
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		if err := c.readCredentials(authority[:at]); err != nil {
			return nil, err
		}
		authority = authority[at+1:]
	} else if strings.Contains(path, "@") || !hostList.MatchString(authority) && strings.Contains(query, "@") {
		return nil, errCredentials
	}
	for host := range strings.SplitSeq(authority, ",") {
		if host != "" {
			c.hosts = append(c.hosts, host)
		}
	}
	if len(c.hosts) == 0 {
		return nil, errors.New("the connection string names no host")
	}
	c.Database = strings.TrimPrefix(path, "/")
	for part := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' }) {
		name, value, _ := strings.Cut(part, "=")
		c.query = append(c.query, parameter{name, value})
	}
	return c, nil
}

// hostList matches valid lists of hosts. Other text may be a password.
var hostList = regexp.MustCompile(`^(?:(?:[\w.-]+|\[[0-9A-Fa-f:.%]+\]|%2[Ff][\w.%-]+)(?::\d+)?,?)+$`)

func (c *ConnectionString) readCredentials(text string) error {
	name, password, hasPassword := strings.Cut(text, ":")
	if strings.ContainsAny(name+password, ":@") {
		return errCredentials
	}
	user, err := url.PathUnescape(name)
	if err != nil {
		return errCredentials
	}
	c.user = &user
	if !hasPassword {
		return nil
	}
	if password, err = url.PathUnescape(password); err != nil {
		return errCredentials
	}
	c.password = &password
	return nil
}

func (c *ConnectionString) get(name string) (string, bool) {
	for _, p := range c.query {
		if strings.EqualFold(p.name, name) {
			value, err := url.QueryUnescape(p.value)
			return value, err == nil
		}
	}
	return "", false
}

// set sets a parameter, and replaces existing values.
func (c *ConnectionString) set(name, value string) {
	c.drop(name)
	c.query = append(c.query, parameter{name, url.QueryEscape(value)})
}

func (c *ConnectionString) drop(name string) {
	c.query = slices.DeleteFunc(c.query, func(p parameter) bool { return strings.EqualFold(p.name, name) })
}

func (c *ConnectionString) setUnlessGiven(name, value string) {
	if _, ok := c.get(name); !ok {
		c.set(name, value)
	}
}

// String returns the connection string for the driver, including credentials.
func (c *ConnectionString) String() string {
	var credentials string
	if c.user != nil {
		credentials = url.QueryEscape(*c.user)
		if c.password != nil {
			credentials += ":" + url.QueryEscape(*c.password)
		}
		// The driver decodes a plus sign as a plus sign.
		credentials = strings.ReplaceAll(credentials, "+", "%20") + "@"
	}
	return c.text(credentials, c.query)
}

// Redacted returns the connection string with credentials redacted.
func (c *ConnectionString) Redacted() string {
	var credentials string
	if c.user != nil {
		credentials = "<credentials>@"
	}
	query := slices.Clone(c.query)
	for i, p := range query {
		if secret.IsSecretParameter(p.name) {
			query[i].value = "<credentials>"
		}
	}
	return c.text(credentials, query)
}

// Location returns the cluster and the database, for errors.
func (c *ConnectionString) Location() string {
	return strings.TrimSuffix(c.text("", nil), "/")
}

func (c *ConnectionString) text(credentials string, query []parameter) string {
	text := c.scheme + credentials + strings.Join(c.hosts, ",") + "/" + c.Database
	for i, p := range query {
		if i == 0 {
			text += "?"
		} else {
			text += "&"
		}
		text += p.name + "=" + p.value
	}
	return text
}

// allLocal reports whether every host is this machine, so that server selection can be short.
func (c *ConnectionString) allLocal() bool {
	return !slices.ContainsFunc(c.hosts, func(host string) bool {
		name, _ := splitPort(host)
		return !slices.Contains([]string{"localhost", "127.0.0.1", "[::1]"}, name)
	})
}

// Parse parses a connection string, and adds the defaults of mongosh. No error repeats any part of the
// credentials.
func Parse(text string) (*ConnectionString, error) {
	c, err := parse(text)
	if err != nil {
		return nil, err
	}
	return withDefaults(c), nil
}

// MockConnectionString returns the connection string of the mock cluster, which has no real address.
func MockConnectionString() *ConnectionString {
	return withDefaults(&ConnectionString{scheme: scheme, hosts: []string{"mock:27017"}})
}

// Password returns the password of the user, in the form of --password.
func (c *ConnectionString) Password() cmdline.Password {
	if c.password == nil {
		return cmdline.Password{}
	}
	return cmdline.Password{Given: true, Value: *c.password}
}

// SecretParameter returns the name of a parameter that contains a password or a token; empty for none.
// Other values of authMechanismProperties are not secret.
func (c *ConnectionString) SecretParameter() string {
	for _, p := range c.query {
		value, ok := c.get(p.name)
		harmless := ok && strings.EqualFold(p.name, "authMechanismProperties") &&
			!strings.Contains(strings.ToUpper(value), "TOKEN:")
		if secret.IsSecretParameter(p.name) && !harmless {
			return p.name
		}
	}
	return ""
}
