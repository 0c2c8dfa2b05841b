package codex

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recibo-ci/recibo/pkg/fault"
)

// fakeNPM makes a directory with an npm that prints what script says.
func fakeNPM(t *testing.T, script string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "npm"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestRegistryOrder(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "npm-registry")
	if err := os.WriteFile(file, []byte("https://file.example/\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	general := fakeNPM(t, "echo registry=https://npm.example/npm\necho @openai:registry=undefined\n")
	scoped := fakeNPM(t, "echo registry=https://npm.example/npm\necho @openai:registry=https://scope.example/\n")
	broken := fakeNPM(t, "echo registry=https://npm.example/\nexit 1\n")
	cases := map[string]struct {
		env  map[string]string
		file string
		want string
	}{
		"variable":       {env: map[string]string{"NPM_CONFIG_REGISTRY": "https://upper.example", "PATH": scoped}, file: file, want: "https://upper.example/"},
		"small_variable": {env: map[string]string{"npm_config_registry": "https://lower.example/a/b", "PATH": scoped}, file: file, want: "https://lower.example/a/b/"},
		"npm":            {env: map[string]string{"PATH": general}, file: file, want: "https://npm.example/npm/"},
		"npm_scope":      {env: map[string]string{"PATH": scoped}, file: file, want: "https://scope.example/"},
		"npm_fails":      {env: map[string]string{"PATH": broken}, file: file, want: "https://file.example/"},
		"file":           {file: file, want: "https://file.example/"},
		"relative_path":  {env: map[string]string{"PATH": "bin:."}, file: file, want: "https://file.example/"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := Finder{Getenv: func(name string) string { return c.env[name] }, RegistryFile: c.file}
			got, err := f.registry(t.Context(), Want{}, release{version: "1.2.3"})
			if err != nil || got.base.String() != c.want || got.from == "" || got.auth != "" {
				t.Errorf("registry: %+v, %v; want %s", got, err, c.want)
			}
		})
	}
}

func TestRegistryRefused(t *testing.T) {
	t.Parallel()
	locked := release{version: "1.2.3", pinned: tarballSum{1}}
	cases := map[string]struct {
		address string
		release release
		words   string
	}{
		"none":              {address: "", release: locked, words: "NPM_CONFIG_REGISTRY"},
		"no_url":            {address: "npm.example", release: locked, words: "not the URL"},
		"control_character": {address: "https://user:SECRET@npm.example/\x01", release: locked, words: "not the URL"},
		"file":              {address: "file:///srv/npm", release: locked, words: "not the URL"},
		"password":          {address: "https://user:SECRET@npm.example/", release: locked, words: "not the URL"},
		"query":             {address: "https://npm.example/?token=SECRET", release: locked, words: "not the URL"},
		"plain_http":        {address: "http://npm.example/", release: release{version: "1.2.3"}, words: "https"},
	}
	for name, c := range cases {
		f := Finder{Getenv: func(name string) string { return map[string]string{"NPM_CONFIG_REGISTRY": c.address}[name] }}
		_, err := f.registry(t.Context(), Want{}, c.release)
		checkFault(t, err, fault.Request, c.words)
		if strings.Contains(err.Error()+fault.HintOf(err), "SECRET") {
			t.Errorf("%s: %v tells the secret", name, err)
		}
	}
	// What the lock file vouches for may come by any road.
	f := Finder{Getenv: func(name string) string { return map[string]string{"NPM_CONFIG_REGISTRY": "http://npm.example/"}[name] }}
	if got, err := f.registry(t.Context(), Want{}, locked); err != nil || got.base.Host != "npm.example" {
		t.Errorf("plain http for a locked release: %+v, %v", got, err)
	}
}

// A pull request brings an .npmrc in the directory the run starts in, an npm of its own on PATH,
// and the user's settings stay what counts. The real npm client is asked.
func TestRegistryOfAHostileWorkspace(t *testing.T) {
	const child = "RECIBO_TEST_NPM_HOME"
	if home := os.Getenv(child); home != "" {
		workspace, err := os.Getwd()
		if err != nil {
			panic(err)
		}
		f := Finder{
			Getenv: func(name string) string {
				switch name {
				case "HOME":
					return home
				case "PATH":
					return strings.Join([]string{"node_modules/.bin", filepath.Join(workspace, "node_modules", ".bin"), os.Getenv("PATH")}, ":")
				}
				return ""
			},
			Warn: func(s string) { fmt.Println("CHILD", s) },
		}
		address, from := f.registryAddress(context.Background(), workspace)
		fmt.Printf("CHILD registry %s from %s\n", address, from)
		os.Exit(0)
	}
	t.Parallel()
	workspace, home := t.TempDir(), t.TempDir()
	evil := "registry=http://127.0.0.1:1/evil/\n@openai:registry=http://127.0.0.1:1/evil/\n"
	write := func(path, data string, mode os.FileMode) {
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(data), mode))
		if err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(workspace, ".npmrc"), evil, 0o644)
	write(filepath.Join(workspace, "package.json"), "{}", 0o644)
	// The client itself, and what starts it.
	for _, name := range []string{"npm", "node"} {
		write(filepath.Join(workspace, "node_modules", ".bin", name), "#!/bin/sh\necho '"+evil+"'\n", 0o755)
	}
	write(filepath.Join(home, ".npmrc"), "registry=http://127.0.0.1:2/good\n", 0o644)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ask := func(home string) string {
		cmd := exec.Command(self, "-test.run=^"+t.Name()+"$")
		cmd.Dir = workspace
		cmd.Env = append(os.Environ(), child+"="+home)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	if got, want := ask(home), "CHILD registry http://127.0.0.1:2/good from npm's setting registry\n"; got != want {
		t.Errorf("with the user's settings: %q, want %q", got, want)
	}
	// A home in the workspace is the pull request's as well.
	if got := ask(workspace); strings.Contains(got, "evil") || !strings.Contains(got, "CHILD registry http") {
		t.Errorf("with the home in the workspace: %q, want npm's default", got)
	}
}

func TestAuthorization(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	npmrc := `; a comment
//npm.example/team/:_authToken = "${TOKEN}"
//npm.example/:_auth=dXNlcjpwYXNz
//npm.example:8443/:_authToken=port
# //other.example/:_authToken=no
//unset.example/:_authToken=${NOT_SET}
`
	if err := os.WriteFile(filepath.Join(home, ".npmrc"), []byte(npmrc), 0o600); err != nil {
		t.Fatal(err)
	}
	f := Finder{Getenv: func(name string) string { return map[string]string{"HOME": home, "TOKEN": "t0ken"}[name] }}
	for at, want := range map[string]string{
		"npm.example/team/":      "Bearer t0ken",
		"npm.example/team/deep/": "Bearer t0ken",
		"npm.example/teams/":     "Basic dXNlcjpwYXNz",
		"npm.example/":           "Basic dXNlcjpwYXNz",
		"npm.example:8443/":      "Bearer port",
		"other.example/":         "",
		"example/":               "",
	} {
		if got := f.authorization(at, ""); got != want {
			t.Errorf("authorization(%q) = %q, want %q", at, got, want)
		}
	}
	if got := f.authorization("npm.example/", home); got != "" {
		t.Errorf("settings in the workspace give %q, want nothing", got)
	}
}

// The token goes to the registry and nowhere else, redirected or not.
func TestAuthorizationStaysAtTheRegistry(t *testing.T) {
	t.Parallel()
	p := newFakePackage(t, "1.2.3")
	reg, elsewhere := newTLSRegistry(t), newTLSRegistry(t)
	var here, there []string
	note := func(at *[]string, next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, req *http.Request) {
			*at = append(*at, req.Header.Get("Authorization"))
			next(w, req)
		}
	}
	reg.on(p.docPath(), note(&here, p.doc(elsewhere.URL)))
	reg.on(p.tarballPath(), note(&here, answerRedirect(elsewhere.URL+"/blob")))
	elsewhere.on("/blob", note(&there, answerStatus(404)))
	elsewhere.on(p.tarballPath(), note(&there, p.file()))
	f := newFinding(t, reg.URL, nil)
	f.lock = p.locked()
	f.HTTP = clientOf(reg, elsewhere)
	u, err := url.Parse(reg.URL)
	if err != nil {
		t.Fatal(err)
	}
	home := f.Getenv("HOME")
	if err := os.WriteFile(filepath.Join(home, ".npmrc"), []byte("//"+u.Host+"/:_authToken=t0ken\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := f.Find(t.Context(), Want{})
	if err != nil {
		t.Fatal(err)
	}
	checkWhole(t, f, got, FromInstall, "lock")
	if fmt.Sprint(here) != "[Bearer t0ken Bearer t0ken]" || fmt.Sprint(there) != "[ ]" {
		t.Errorf("the registry got %q, the other host %q; want the token at the registry alone", here, there)
	}
}

// clientOf trusts the certificates of several fake registries.
func clientOf(regs ...*fakeRegistry) *http.Client {
	client := regs[0].Client()
	pool := client.Transport.(*http.Transport).TLSClientConfig.RootCAs
	for _, r := range regs[1:] {
		pool.AddCert(r.Certificate())
	}
	return client
}

func TestNoDowngrade(t *testing.T) {
	t.Parallel()
	p := newFakePackage(t, "1.2.3")
	cases := map[string]func(reg, plain *fakeRegistry){
		"redirect": func(reg, plain *fakeRegistry) {
			reg.on(p.docPath(), p.doc(reg.URL)).on(p.tarballPath(), answerRedirect(plain.URL+p.tarballPath()))
		},
		"redirected_document": func(reg, plain *fakeRegistry) {
			reg.on(p.docPath(), answerRedirect(plain.URL+p.docPath()))
		},
		"tarball": func(reg, plain *fakeRegistry) { reg.on(p.docPath(), p.doc(plain.URL)) },
		"endless": func(reg, _ *fakeRegistry) {
			reg.on(p.docPath(), p.doc(reg.URL))
			for range redirectsMax + 1 {
				reg.on(p.tarballPath(), answerRedirect(reg.URL+p.tarballPath()))
			}
		},
	}
	for name, set := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg, plain := newTLSRegistry(t), newFakeRegistry(t)
			set(reg, plain)
			f := newFinding(t, reg.URL, nil)
			f.lock, f.HTTP = p.locked(), reg.Client()
			got, err := f.Find(t.Context(), Want{})
			if !errors.Is(err, errRefused) || got != nil || len(f.remains(t)) != 0 {
				t.Errorf("got %+v, %v; want it refused", got, err)
			}
		})
	}
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	p := newFakePackage(t, "1.2.3")
	for _, name := range []string{"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"} {
		reg := newTLSRegistry(t)
		// The refused handshake is what is wanted.
		reg.Config.ErrorLog = log.New(io.Discard, "", 0)
		path := filepath.Join(t.TempDir(), "ca.pem")
		block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: reg.Certificate().Raw})
		if err := os.WriteFile(path, block, 0o644); err != nil {
			t.Fatal(err)
		}
		f := newFinding(t, reg.URL, map[string]string{name: path + ".not"})
		f.lock = p.locked()
		_, err := f.Find(t.Context(), Want{})
		checkFault(t, err, fault.Request, "NODE_EXTRA_CA_CERTS")
		if !f.told(name) {
			t.Errorf("%s: warned %q, want the unread file told", name, f.warned)
		}
		reg.on(p.docPath(), p.doc(reg.URL)).on(p.tarballPath(), p.file())
		f = newFinding(t, reg.URL, map[string]string{name: path})
		f.lock = p.locked()
		got, err := f.Find(t.Context(), Want{})
		if err != nil {
			t.Fatal(err)
		}
		checkWhole(t, f, got, FromInstall, "lock")
	}
}

func TestProxy(t *testing.T) {
	t.Parallel()
	f := Finder{Getenv: func(name string) string {
		return map[string]string{"HTTPS_PROXY": "http://proxy.example:3128", "no_proxy": "direct.example"}[name]
	}}
	proxy := f.transport().Proxy
	for to, want := range map[string]string{"https://npm.example/x": "http://proxy.example:3128", "https://direct.example/x": "", "http://npm.example/x": ""} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, to, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := proxy(req)
		if err != nil || got == nil && want != "" || got != nil && got.String() != want {
			t.Errorf("proxy for %s: %v, %v; want %q", to, got, err, want)
		}
	}
}

func FuzzParseNPMRC(f *testing.F) {
	f.Add("//npm.example/:_authToken = \"${TOKEN}\"\n;x\n#y\n=\n${\n")
	f.Add("a=${A}${B?}${C\n")
	f.Fuzz(func(t *testing.T, data string) {
		settings := parseNPMRC(data, func(string) string { return "" })
		for key, value := range settings {
			if strings.ContainsAny(key+value, "\n") {
				t.Errorf("%q = %q holds a newline", key, value)
			}
		}
	})
}

func FuzzParseNPMSettings(f *testing.F) {
	f.Add("registry=https://npm.example/\n@openai:registry=undefined\n")
	f.Add("https://npm.example/\n")
	f.Fuzz(func(t *testing.T, out string) {
		for name, value := range parseNPMSettings(out, []string{"registry"}) {
			if value == "" || value == "undefined" || strings.Contains(name, "\n") {
				t.Errorf("%q = %q", name, value)
			}
		}
	})
}
