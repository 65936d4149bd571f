package target

import (
	"strings"
	"testing"

	"shardsh/cmd/shardsh/cmdline"
)

// parsed reads a command line that says where the cluster is.
func parsed(args []string) (s ConnectionFlags, err error) {
	address, _, _, err := cmdline.Parse(s.Flags(), args)
	if err != nil {
		return s, err
	}
	if len(address) > 0 {
		s.Address = address[0]
	}
	return s, s.Check()
}

// From address and options to a connection string (rules/04-command-line-and-prompt §1.3 and §1.4).
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
			s, err := parsed(strings.Fields(tt.args))
			if err != nil {
				t.Fatal(err)
			}
			c, err := s.ConnectionString()
			if err != nil {
				t.Fatal(err)
			}
			if got := c.String(); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
