package main

import (
	"strings"
	"testing"
)

// parsedServer reads a command line as far as it says where the cluster is.
func parsedServer(args ...string) (server, error) {
	o, err := parseOptions(args)
	return o.server, err
}

// From address and options to a connection string (spec 04 §1.3 and §1.4).
func TestConnectionString(t *testing.T) {
	const (
		direct = "directConnection=true"
		local  = direct + "&serverSelectionTimeoutMS=2000"
	)
	tests := []struct{ args, want string }{
		{"app", "mongodb://127.0.0.1:27017/app?" + local},
		{"h:9999/app", "mongodb://h:9999/app?" + direct},
		{"h.example", "mongodb://h.example/?" + direct},
		{"10.0.0.5/app", "mongodb://10.0.0.5/app?" + direct},
		{"localhost:9999", "mongodb://localhost:9999/?" + local},
		{"h/a?b", "mongodb://h/a%3Fb?" + direct},
		{"[::1]:9999/app", "mongodb://[::1]:9999/app?" + local},
		{"mongodb://h1,h2/app", "mongodb://h1,h2/app"},
		{"mongodb://h1/app?replicaSet=rs", "mongodb://h1/app?replicaSet=rs"},
		{"mongodb://h1/?directConnection=false", "mongodb://h1/?directConnection=false"},
		{"mongodb://h1/?loadBalanced=true", "mongodb://h1/?loadBalanced=true"},
		{"mongodb://u:p@h.example?tls=true", "mongodb://u:p@h.example/?tls=true&" + direct},
		{"mongodb://h.example/?appName=mine", "mongodb://h.example/?appName=mine&" + direct},
		{"mongodb+srv://h.example/app", "mongodb+srv://h.example/app"},
		{"--port 9999", "mongodb://127.0.0.1:9999/?" + local},
		{"--port 1 --port 2", "mongodb://127.0.0.1:2/?" + local},
		{"--port 9999 app", "mongodb://127.0.0.1:9999/app?" + local},
		{"--host h", "mongodb://h:27017/?" + direct},
		{"--host h --port 9999 app", "mongodb://h:9999/app?" + direct},
		{"--host h:9999", "mongodb://h:9999/?" + direct},
		{"--host ::1 --port 9999", "mongodb://[::1]:9999/?" + local},
		{"--host [::1]:9999", "mongodb://[::1]:9999/?" + local},
		{"--host h1,h2:9999", "mongodb://h1:27017,h2:9999/"},
		{"--host h1,h2 --port 9999 app", "mongodb://h1:9999,h2:9999/app"},
		{"--host set/h1,h2:9999", "mongodb://h1:27017,h2:9999/?replicaSet=set"},
		{"--host set/h1 app", "mongodb://h1:27017/app?replicaSet=set"},
		{"-u joe", "mongodb://joe@127.0.0.1:27017/?" + local},
		{"-u joe -p s3:/?#[]@%+\" h.example", "mongodb://joe:s3%3A%2F%3F%23%5B%5D%40%25%2B%22@h.example/?" + direct},
		{"-u a+b -p=\"quoted\" h.example", "mongodb://a%2Bb:%22quoted%22@h.example/?" + direct},
		{"mongodb://a:b@h.example/ -u joe -p new", "mongodb://joe:new@h.example/?" + direct},
		{"mongodb://a:b@h.example/ -p new", "mongodb://a:new@h.example/?" + direct},
		{"mongodb://h.example/?authSource=x --authenticationDatabase y", "mongodb://h.example/?authSource=y&" + direct},
		{"h.example --authenticationMechanism PLAIN", "mongodb://h.example/?authMechanism=PLAIN&" + direct},
		{"h.example --tls", "mongodb://h.example/?tls=true&" + direct},
		{"h.example --no-tls", "mongodb://h.example/?tls=false&" + direct},
		{"h.example --tls-allow-invalid-hostnames", "mongodb://h.example/?tlsAllowInvalidHostnames=true&tls=true&" + direct},
		{"h.example --ssl --sslAllowInvalidCertificates",
			"mongodb://h.example/?tlsAllowInvalidCertificates=true&tls=true&" + direct},
		{"h.example --tlsCAFile address_test.go", "mongodb://h.example/?tlsCAFile=address_test.go&tls=true&" + direct},
		{"h.example --retryWrites=false", "mongodb://h.example/?retryWrites=false&" + direct},
		{"h.example --retryWrites false", "mongodb://h.example/?retryWrites=false&" + direct},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			s, err := parsedServer(strings.Fields(tt.args)...)
			if err != nil {
				t.Fatal(err)
			}
			c, err := s.connectionString()
			if err != nil {
				t.Fatal(err)
			}
			if got := c.String(); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// Usage errors name the argument and the remedy, and exit with 2.
func TestAddressErrors(t *testing.T) {
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"mongodb://h/", "--port", "1"}, "--host or --port"},
		{[]string{"h:1", "--port", "1"}, "--host or --port"},
		{[]string{"h.example", "--host", "h2"}, "--host or --port"},
		{[]string{"--host", "h1,h2:2", "--port", "1"}, "--host names port 2 and --port is 1"},
		{[]string{"--host", "h!x"}, "--host has an invalid character: '!'"},
		{[]string{"--host", "mongodb://h"}, "give a connection string as the address"},
		{[]string{"--port", "70000"}, "1 to 65535"},
		{[]string{"--port", "x"}, "1 to 65535"},
		{[]string{"--port"}, "--port needs a value"},
		{[]string{"a:b"}, `"b" is no port`},
		{[]string{"/nowhere/script"}, "neither an address nor a script"},
		{[]string{"a b"}, "neither an address nor a script"},
		{[]string{"--host", "h", "a$b"}, "neither an address nor a script"},
		{[]string{"h:1/a.b"}, `"a.b" can't be the name of a database`},
		{[]string{"mongodb://"}, "names no host"},
		{[]string{"mongodb://h/?nope=1"}, "not supported: nope"},
		{[]string{"mongodb://h/?tlsAllowInvalidCertificates=maybe"}, "tlsAllowInvalidCertificates takes true or false"},
		{[]string{"--port", "1", "-p", "secret"}, "--password needs --username"},
		{[]string{"h:1", "-p", "27018"}, "-p is short for --password, not for --port"},
		{[]string{"h:1", "-u", "joe", "-p", "mongodb://h"}, "--password was given a connection string"},
		{[]string{"h:1", "-u", "joe", "-psecret"}, "options of one letter stand alone"},
		{[]string{"h:1", "-u", "joe", "-p", "x", "--passwordFile", "y"}, "exclude each other"},
		{[]string{"h:1", "-u", "joe", "--passwordFile", "/nowhere"}, "--passwordFile: open /nowhere"},
		{[]string{"h:1", "--authenticationMechanism", "GSSAPI"}, "Kerberos is not built in; log in by SCRAM-SHA-256"},
		{[]string{"h:1", "--gssapiServiceName", "x"}, "Kerberos is not built in"},
		{[]string{"h:1", "--tlsFIPSMode"}, "GODEBUG=fips140=on"},
		{[]string{"h:1", "--sslFIPSMode"}, "GODEBUG=fips140=on"},
		{[]string{"h:1", "--tlsCertificateSelector=x"}, "--tlsCertificateKeyFile"},
		{[]string{"h:1", "--awsAccessKeyId", "x"}, "field level encryption is not built in"},
		{[]string{"h:1", "--oidcFlows=x"}, "no login with a browser"},
		{[]string{"h:1", "--tls=false", "--tlsAllowInvalidHostnames"}, "--tls=false and other --tls options"},
		{[]string{"h:1", "--tlsCAFile", "/nowhere"}, "--tlsCAFile: stat /nowhere"},
		{[]string{"h:1", "--tlsCRLFile", "address_test.go"}, "no certificate revocation list"},
		{[]string{"h:1", "--tlsCertificateKeyFilePassword", "x"}, "needs --tlsCertificateKeyFile"},
		{[]string{"h:1", "--tlsDisabledProtocols", "SSLv3"}, `not "SSLv3"`},
		{[]string{"h:1", "--tlsDisabledProtocols", "TLS1_2,TLS1_3"}, "leaves no protocol"},
		{[]string{"h:1", "--apiVersion", "2"}, "--apiVersion takes 1"},
		{[]string{"h:1", "--apiStrict"}, "--apiStrict needs --apiVersion"},
		{[]string{"--nodb", "--host", "h"}, "--nodb needs no host"},
		{[]string{"--mock", "--host", "h"}, "--mock and --host"},
		{[]string{"--mock", "-u", "joe"}, "--username is for a live cluster"},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			code, _, stderr := runProgram(t, "", append(tt.args, "--eval", "1")...)
			if strings.HasPrefix(tt.want, "--port needs") {
				code, _, stderr = runProgram(t, "", tt.args...)
			}
			if code != exitUsage || !strings.Contains(stderr, tt.want) {
				t.Errorf("exit code %d, stderr %q", code, stderr)
			}
		})
	}
}

// No way to mistype a connection string tells the password.
func TestMistypedAddressesTellNoPassword(t *testing.T) {
	for _, address := range []string{
		"mongodb://joe:secret@127.0.0.1:1/db", "mongodb://joe:se/cret@h/db", "mongodb://joe:sec?ret@h/db",
		"mongodb://joe:sec@ret@h/db", "mongodb://joe:sec:ret@h/db", "mongodb://joe:sec%zzret@h/db",
		"mongodb://joe:sec ret@127.0.0.1:1/db",
		"mongodb://joe:secret@127.0.0.1:1/db?nope=1", "mongodb://joe:secret@127.0.0.1:99999999/db",
		"mongodb://joe:1sec/ret@h/db",
		"mongodb://joe:x@127.0.0.1:1/?authMechanism=PLAIN&tlsCertificateKeyFile=/nowhere&" +
			"tlsCertificateKeyFilePassword=secret",
		"mongodb://joe:secret@",
	} {
		code, stdout, stderr := runProgram(t, "", address, "--eval", "1")
		if code == exitOK || stdout != "" {
			t.Errorf("%s: exit code %d, stdout %q", address, code, stdout)
		}
		for _, part := range []string{"sec", "ret", "cret"} {
			if strings.Contains(strings.ReplaceAll(stderr, "secret=", ""), part) {
				t.Errorf("%s: stderr %q", address, stderr)
			}
		}
	}
}
