// The three operations as they are usually written in Go: net/http, encoding/json, the key found by its SHA-256, one
// durable commit per create, in which the Idempotency-Key is claimed. Arguments: the port, and either a SQLite file or the address of a PostgreSQL database.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

type pet struct {
	ID         int64  `json:"id"`
	Name       string `json:"name"`
	CategoryID int64  `json:"categoryId"`
	Status     string `json:"status"`
}

type store interface {
	list(ctx context.Context, status string, after int64, limit int) ([]pet, error)
	find(ctx context.Context, id int64) (pet, error)
	// Stores the pet and the claim of its key, if any, in one transaction. A claim that is known gives the pet its id.
	create(ctx context.Context, p *pet, c *claim) (replayed bool, err error)
}

type claim struct {
	key, fingerprint string
}

var (
	errNotFound  = errors.New("no such pet")
	errKeyReused = errors.New("the Idempotency-Key was used for another pet")
)

const (
	bodyBytesMax   = 64 * 1024
	claimRetention = 24 * time.Hour
)

type server struct {
	store store
	keys  map[[sha256.Size]byte]bool
}

func main() {
	port, database := os.Args[1], os.Args[2]
	opened, err := open(database)
	if err != nil {
		log.Fatal(err)
	}
	key := sha256.Sum256([]byte(os.Getenv("PETSTORE_BOOTSTRAP_KEY")))
	s := &server{store: opened, keys: map[[sha256.Size]byte]bool{key: true}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/pets", s.list)
	mux.HandleFunc("GET /v1/pets/{id}", s.get)
	mux.HandleFunc("POST /v1/pets", s.create)
	log.Fatal(http.ListenAndServe("127.0.0.1:"+port, s.authenticated(mux)))
}

func open(database string) (store, error) {
	if strings.HasPrefix(database, "postgres://") {
		return openPostgres(database)
	}
	return openSqlite(database)
}

func (s *server) authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok || !s.keys[sha256.Sum256([]byte(key))] {
			refuse(w, http.StatusUnauthorized, "unauthorized")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *server) list(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	limit, err := intOr(query.Get("limit"), 20)
	if err != nil || limit < 1 || limit > 100 {
		refuse(w, http.StatusBadRequest, "limit must be 1 to 100")
		return
	}
	after, err := intOr(query.Get("after"), 0)
	if err != nil {
		refuse(w, http.StatusBadRequest, "after must be a number")
		return
	}
	status := query.Get("status")
	if status != "" && !isStatus(status) {
		refuse(w, http.StatusBadRequest, "status must be available, pending or sold")
		return
	}
	pets, err := s.store.list(r.Context(), status, after, int(limit))
	respond(w, http.StatusOK, pets, err)
}

func (s *server) get(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		refuse(w, http.StatusBadRequest, "the id must be a number")
		return
	}
	found, err := s.store.find(r.Context(), id)
	respond(w, http.StatusOK, found, err)
}

func (s *server) create(w http.ResponseWriter, r *http.Request) {
	p := pet{Status: "available"}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, bodyBytesMax)).Decode(&p); err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	if len(p.Name) < 1 || len(p.Name) > 255 {
		refuse(w, http.StatusBadRequest, "name must have 1 to 255 characters")
		return
	}
	if !isStatus(p.Status) {
		refuse(w, http.StatusBadRequest, "status must be available, pending or sold")
		return
	}
	replayed, err := s.store.create(r.Context(), &p, claimOf(r, p))
	if replayed {
		w.Header().Set("Idempotency-Replayed", "true")
	}
	respond(w, http.StatusCreated, p, err)
}

func claimOf(r *http.Request, p pet) *claim {
	key := r.Header.Get("Idempotency-Key")
	if key == "" {
		return nil
	}
	fields, _ := json.Marshal([]any{p.Name, p.CategoryID, p.Status})
	sum := sha256.Sum256(fields)
	return &claim{key, hex.EncodeToString(sum[:])}
}

func isStatus(text string) bool {
	return text == "available" || text == "pending" || text == "sold"
}

func intOr(text string, absent int64) (int64, error) {
	if text == "" {
		return absent, nil
	}
	return strconv.ParseInt(text, 10, 64)
}

func respond(w http.ResponseWriter, status int, value any, err error) {
	if errors.Is(err, errNotFound) {
		refuse(w, http.StatusNotFound, err.Error())
		return
	}
	if errors.Is(err, errKeyReused) {
		refuse(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	body, encodeErr := json.Marshal(value)
	if err = errors.Join(err, encodeErr); err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	w.Write(body)
}

func refuse(w http.ResponseWriter, status int, message string) {
	respond(w, status, map[string]any{"status": status, "message": message}, nil)
}
