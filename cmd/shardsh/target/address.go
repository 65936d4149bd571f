package target

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"

	"shardsh/cmd/shardsh/cmdline"
)

const (
	defaultHost = "127.0.0.1"
	defaultPort = "27017"
	// localSelectionTimeout is the server selection timeout for a server on this machine
	// (rules/04-command-line-and-prompt §1.3). For other servers, the driver's default applies.
	localSelectionTimeout = "2000"
)

// ConnectionString returns the connection string that results from the address and the options
// (rules/04-command-line-and-prompt §1.3 and §1.4).
func (s ConnectionFlags) ConnectionString() (*ConnectionString, error) {
	c, err := s.baseConnectionString()
	if err != nil {
		return nil, err
	}
	if s.Username != "" {
		c.user, c.password = &s.Username, nil
	}
	if s.Password.Given && s.Password.Value != "" {
		c.password = &s.Password.Value
	}
	for _, p := range s.parameters() {
		c.set(p.name, p.value)
	}
	return withDefaults(c), nil
}

// baseConnectionString returns the connection string of the address, --host and --port.
func (s ConnectionFlags) baseConnectionString() (*ConnectionString, error) {
	if err := s.checkHost(); err != nil {
		return nil, err
	}
	if IsURI(s.Address) {
		if s.Host != "" || s.Port != "" {
			return nil, cmdline.Usagef("the address is a whole connection string; " +
				"it can't be used together with --host or --port")
		}
		c, err := parse(s.Address)
		if err != nil {
			return nil, cmdline.UsageError{Err: err}
		}
		return c, nil
	}
	setName, hostText, isSet := strings.Cut(s.Host, "/")
	if !isSet {
		setName, hostText = "", s.Host
	}
	hosts, err := s.parseHosts(hostText)
	if err != nil {
		return nil, err
	}
	host, database := "", s.Address
	if !isSet {
		if host, database, err = splitAddress(s.Address); err != nil {
			return nil, err
		}
	}
	if strings.ContainsAny(database, "/\\. \"$\x00") {
		return nil, cmdline.Usagef("%q can't be the name of a database", database)
	}
	switch {
	case host != "" && (s.Host != "" || s.Port != ""):
		return nil, cmdline.Usagef("the address %s names a host; it can't be used together with --host or --port", s.Address)
	case host != "":
		hosts = []string{host}
	}
	c := &ConnectionString{scheme: scheme, hosts: hosts, Database: url.PathEscape(database)}
	if setName != "" {
		c.set("replicaSet", setName)
	}
	return c, nil
}

// splitAddress splits an address that is not a connection string: it is a host if it contains a dot or
// a port, otherwise a database.
func splitAddress(address string) (host, database string, err error) {
	if strings.Contains(address, "@") { // the part before it may be a password
		return "", "", cmdline.Usagef("the address has a user in it, but does not begin with mongodb:// or mongodb+srv://: " +
			"add that, or use --username")
	}
	if scheme, _, isURI := strings.Cut(address, "://"); isURI {
		return "", "", cmdline.Usagef("%s:// does not begin a connection string: use mongodb:// or mongodb+srv://", scheme)
	}
	if strings.ContainsAny(address, " \"$\\") || strings.HasPrefix(address, "/") || strings.HasPrefix(address, ".") {
		return "", "", cmdline.Usagef("%q is neither an address nor a script that exists", address)
	}
	host, database, hasPath := strings.Cut(address, "/")
	if !hasPath && !strings.ContainsAny(address, ".:") {
		return "", address, nil
	}
	for one := range strings.SplitSeq(host, ",") {
		name, port := splitPort(one)
		if name == "" {
			return "", "", cmdline.Usagef("%q is neither an address nor a script that exists: the name of a host is missing",
				address)
		}
		if port != "" && !isValidPort(port) {
			return "", "", cmdline.Usagef("%q is neither an address nor a script that exists: %q is not a port (1 to 65535)",
				address, port)
		}
	}
	return host, database, nil
}

const hostCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.:[]_-,/"

func (s ConnectionFlags) checkHost() error {
	if IsURI(s.Host) {
		return cmdline.Usagef("--host takes a host; give a connection string as the address")
	}
	if i := strings.IndexFunc(s.Host, func(r rune) bool { return !strings.ContainsRune(hostCharacters, r) }); i >= 0 {
		return cmdline.Usagef("--host has an invalid character: %q", []rune(s.Host[i:])[0])
	}
	if s.Port != "" && !isValidPort(s.Port) {
		return cmdline.Usagef("--port takes a number from 1 to 65535, not %q", s.Port)
	}
	return nil
}

// parseHosts returns the hosts in --host, with the port of --port.
func (s ConnectionFlags) parseHosts(list string) ([]string, error) {
	port := cmp.Or(s.Port, defaultPort)
	var hosts []string
	for host := range strings.SplitSeq(list, ",") {
		if host == "" {
			continue
		}
		name, own := splitPort(host)
		switch {
		case own != "" && !isValidPort(own):
			return nil, cmdline.Usagef("--host: %q is not a port (1 to 65535)", own)
		case own != "" && s.Port != "" && own != s.Port:
			return nil, cmdline.Usagef("--host names port %s and --port is %s; leave one out", own, s.Port)
		}
		hosts = append(hosts, name+":"+cmp.Or(own, port))
	}
	if len(hosts) == 0 {
		hosts = []string{defaultHost + ":" + port}
	}
	return hosts, nil
}

// splitPort splits host:port. An IPv6 address is in brackets in the result; one without brackets in the
// input has no port.
func splitPort(host string) (name, port string) {
	if strings.Count(host, ":") > 1 && !strings.HasPrefix(host, "[") {
		return "[" + host + "]", ""
	}
	colon := strings.LastIndexByte(host, ':')
	if colon < strings.LastIndexByte(host, ']') || colon < 0 {
		return host, ""
	}
	return host[:colon], host[colon+1:]
}

func isValidPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

// withDefaults adds the defaults of mongosh: a direct connection to a single host, and a short server
// selection timeout on this machine.
func withDefaults(c *ConnectionString) *ConnectionString {
	given := func(name string) bool { _, ok := c.get(name); return ok }
	if c.scheme == scheme {
		if len(c.hosts) == 1 && !given("replicaSet") && !given("directConnection") && !given("loadBalanced") {
			c.set("directConnection", "true")
		}
		if c.allLocal() {
			c.setUnlessGiven("serverSelectionTimeoutMS", localSelectionTimeout)
		}
	}
	return c
}
