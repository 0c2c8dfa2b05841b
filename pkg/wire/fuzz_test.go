package wire

import (
	"bytes"
	"encoding/json"
	"testing"
)

// What the strict reader accepts, encoding/json reads too, and as the same value: a check made
// here holds for whoever reads the bytes behind it.
func FuzzParseRequest(f *testing.F) {
	for _, name := range []string{"code_mode_1.json", "code_mode_2.json", "classic.json"} {
		f.Add(file(f, name))
	}
	f.Add([]byte(`{"a":"\ud83e\uddfe\/","b":[-0.5e-7,{}],"input":"x"}`))
	f.Add([]byte(`{"store":false,"Store":true}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := ParseRequest(body)
		if err != nil {
			return
		}
		if !bytes.Equal(r.Body, body) {
			t.Fatal("Body is not what was given")
		}
		var theirs struct {
			Model string `json:"model"`
			Store *bool  `json:"store"`
			Tools []any  `json:"tools"`
		}
		if err := json.Unmarshal(body, &theirs); err != nil {
			t.Fatalf("accepted what encoding/json refuses: %v", err)
		}
		if theirs.Model != r.Model || (theirs.Store == nil) != (r.Store == nil) || theirs.Store != nil && *theirs.Store != *r.Store {
			t.Fatalf("encoding/json reads %+v, we read %q %v", theirs, r.Model, r.Store)
		}
		checkCanonical(t, body)
		NewAsked(r)
		if changed := Diff(r, r); changed != nil {
			t.Fatalf("differs from itself: %v", changed)
		}
	})
}

func checkCanonical(t *testing.T, body []byte) {
	t.Helper()
	one, err := Canonical(body)
	if err != nil {
		t.Fatalf("no canonical form: %v", err)
	}
	two, err := Canonical(one)
	if err != nil || !bytes.Equal(one, two) {
		t.Fatalf("canonical form of %s is %s, %v", one, two, err)
	}
	if compact := compacted(t, body); !bytes.Equal(compacted(t, one), compact) {
		t.Fatalf("canonical form says something else:\n%s\n%s", one, body)
	}
}

// compacted is the value as encoding/json prints it, keys sorted and numbers as written.
func compacted(t *testing.T, text []byte) []byte {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func BenchmarkParseRequest(b *testing.B) {
	body := file(b, "code_mode_2.json")
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseRequest(body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNewAsked(b *testing.B) {
	r := parsed(b, string(file(b, "code_mode_2.json")))
	b.ReportAllocs()
	for b.Loop() {
		NewAsked(r)
	}
}
