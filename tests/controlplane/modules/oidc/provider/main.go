// Command provider is an OpenID provider for tests: the example server of zitadel/oidc, with groups.
//
// PORT is where it listens, USERS_FILE its accounts, REDIRECT_URI where it may send people back to.
// GROUPS_FILE maps the id of an account to its groups; it is read for each token, so a test can change it.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"

	"github.com/zitadel/oidc/v3/example/server/config"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
)

type withGroups struct {
	*storage.Storage
	file string
}

func (s withGroups) SetUserinfoFromToken(ctx context.Context, info *oidc.UserInfo, token, subject, origin string) error {
	if err := s.Storage.SetUserinfoFromToken(ctx, info, token, subject, origin); err != nil {
		return err
	}
	data, err := os.ReadFile(s.file)
	if err != nil {
		return err
	}
	groups := map[string]any{}
	if err := json.Unmarshal(data, &groups); err != nil {
		return err
	}
	if own, ok := groups[subject]; ok {
		info.AppendClaims("groups", own)
	}
	return nil
}

func main() {
	cfg := config.FromEnvVars(&config.Config{})
	users, err := storage.StoreFromFile(cfg.UsersFile)
	if err != nil {
		panic(err)
	}
	storage.RegisterClients(storage.WebClient("gangboard", "secret", cfg.RedirectURI...))
	store := withGroups{storage.NewStorage(users), os.Getenv("GROUPS_FILE")}
	issuer := fmt.Sprintf("http://localhost:%s/", cfg.Port)
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	router := exampleop.SetupServer(issuer, store, logger, false)
	panic(http.ListenAndServe("127.0.0.1:"+cfg.Port, router))
}
