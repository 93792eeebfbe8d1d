package vendors_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"backstop/providers/described"
	"backstop/providers/httpjson"
	"backstop/providers/vendors"
)

func TestShippedDescriptionsAreNamedLikeAnyProvider(t *testing.T) {
	if got, want := described.Shipped(), []string{"abstract", "apollo", "dropcontact", "fullcontact", "zerobounce"}; !slices.Equal(got, want) {
		t.Fatalf("shipped are %v, want %v", got, want)
	}
	for _, name := range described.Shipped() {
		f, ok := vendors.FactsOf(name)
		if !ok || f.KeyEnv != strings.ToUpper(name)+"_API_KEY" || len(f.Limits) == 0 || !slices.Contains(vendors.Names(), name) {
			t.Errorf("facts of %s are %+v, %v", name, f, ok)
		}
		if p, err := vendors.New(name, httpjson.Options{APIKey: secretKey}); err != nil || p.Name() != name {
			t.Errorf("%s is %v, %v", name, p, err)
		}
		if _, err := vendors.New(name, httpjson.Options{BaseURL: "ftp://" + secretKey}); err == nil || strings.Contains(err.Error(), secretKey) {
			t.Errorf("%s with a wrong base_url: %v", name, err)
		}
	}
}

// A file is found by its name, so that nobody has to look into all of them.
func TestShippedFilesAreNamedAfterTheirProvider(t *testing.T) {
	for _, name := range described.Shipped() {
		file := filepath.Join("../described/descriptions", name+".yaml")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		d, err := described.ParseDescription(file, text)
		if err != nil || d.Name != name {
			t.Errorf("%s describes %v, %v", file, d, err)
		}
	}
}
