package main

import (
	"net"
	"net/url"
	"regexp"
	"strings"
)

// selectionTimeout is how long the driver looks for a server on this machine
// (spec 04 §1.3); elsewhere its own default holds.
const localSelectionTimeout = "2000"

// connectionString makes the address as typed into a connection string
// (spec 04 §1.3): a URI, host:port/db, a host with a dot, or a database of
// the default server.
func connectionString(address string) (string, error) {
	if strings.HasPrefix(address, "mongodb+srv://") {
		return address, nil
	}
	if !strings.HasPrefix(address, "mongodb://") {
		host, db, _ := strings.Cut(address, "/")
		switch {
		case strings.ContainsAny(address, " \"$\\") || host == "":
			return "", usagef("%q is neither an address nor a script that exists", address)
		case !strings.ContainsAny(address, "./:"):
			host, db = "127.0.0.1:27017", address
		}
		address = "mongodb://" + host + "/" + url.PathEscape(db)
	}
	return withDefaults(address), nil
}

// withDefaults adds what mongosh adds: a direct connection to a single host,
// and a short wait for a server on this machine.
func withDefaults(uri string) string {
	hosts := hostsOf(uri)
	base, query, _ := strings.Cut(uri, "?")
	has := func(name string) bool {
		for part := range strings.SplitSeq(query, "&") {
			if key, _, _ := strings.Cut(part, "="); strings.EqualFold(key, name) {
				return true
			}
		}
		return false
	}
	var add []string
	if len(hosts) == 1 && !has("replicaSet") && !has("directConnection") && !has("loadBalanced") {
		add = append(add, "directConnection=true")
	}
	if allLocal(hosts) && !has("serverSelectionTimeoutMS") {
		add = append(add, "serverSelectionTimeoutMS="+localSelectionTimeout)
	}
	if len(add) == 0 {
		return uri
	}
	if query != "" {
		add = append([]string{query}, add...)
	}
	if !strings.Contains(strings.TrimPrefix(base, "mongodb://"), "/") {
		base += "/"
	}
	return base + "?" + strings.Join(add, "&")
}

func hostsOf(uri string) []string {
	rest := strings.TrimPrefix(uri, "mongodb://")
	rest, _, _ = strings.Cut(rest, "?")
	rest, _, _ = strings.Cut(rest, "/")
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		rest = rest[at+1:]
	}
	return strings.Split(rest, ",")
}

func allLocal(hosts []string) bool {
	for _, h := range hosts {
		name, _, err := net.SplitHostPort(h)
		if err != nil {
			name = h
		}
		if name != "localhost" && name != "127.0.0.1" && name != "[::1]" && name != "::1" {
			return false
		}
	}
	return true
}

var credentials = regexp.MustCompile(`(mongodb(?:\+srv)?://)[^/?\s]*@`)

// redact hides the credentials of connection strings in a text.
func redact(text string) string { return credentials.ReplaceAllString(text, "${1}<credentials>@") }
