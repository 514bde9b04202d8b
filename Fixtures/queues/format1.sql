BEGIN TRANSACTION;
CREATE TABLE "project" ("myId" TEXT PRIMARY KEY NOT NULL, "name" TEXT NOT NULL);
INSERT INTO "project" VALUES('p1','House');
CREATE TABLE strata_remote_awaited (
  entity TEXT NOT NULL, record NOT NULL, field TEXT NOT NULL, target TEXT NOT NULL, id NOT NULL,
  PRIMARY KEY (entity, record, field)) WITHOUT ROWID;
CREATE TABLE strata_remote_changes (
  number INTEGER PRIMARY KEY AUTOINCREMENT, account TEXT NOT NULL, entity TEXT NOT NULL, record NOT NULL, id,
  kind TEXT NOT NULL CHECK (kind IN ('insert', 'update', 'delete')),
  state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'refused')),
  attempts INTEGER NOT NULL DEFAULT 0, not_before REAL, code TEXT, reason TEXT, status INTEGER,
  verb TEXT, url TEXT, body BLOB, headers TEXT, idempotency_key TEXT UNIQUE, request INTEGER,
  UNIQUE (entity, record));
INSERT INTO "strata_remote_changes" VALUES(1,'','Todo','5','5','update','waiting',0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "strata_remote_changes" VALUES(2,'','Todo','4','4','update','refused',1,NULL,'refused','the server refuses the request; one that it accepts is needed',422,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "strata_remote_changes" VALUES(4,'','Todo','new',NULL,'insert','waiting',1,NULL,'cutOff','the connection ended before the answer did',NULL,'POST','https://example.com/api/todos',X'7B227469746C65223A224D616465222C226465736372697074696F6E223A2268657265222C22646F6E65223A66616C73652C2270726F6A6563745F6964223A227031227D','Content-Type:application/json','3A3B7E86-6EEB-4C66-9312-E8AD6B4F77B7',1795628467270269);
INSERT INTO "strata_remote_changes" VALUES(5,'','Todo','1','1','update','waiting',0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "strata_remote_changes" VALUES(6,'','Todo','3','3','delete','waiting',0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "strata_remote_changes" VALUES(7,'','Todo','newer',NULL,'insert','waiting',0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE strata_remote_conflicts (
  number INTEGER PRIMARY KEY AUTOINCREMENT, account TEXT NOT NULL, entity TEXT NOT NULL, record NOT NULL,
  field TEXT NOT NULL, part TEXT NOT NULL, path TEXT NOT NULL, base, server, UNIQUE (entity, record, field, part));
INSERT INTO "strata_remote_conflicts" VALUES(1,'','Todo','5','desc','[]','desc','old','there');
CREATE TABLE strata_remote_copies (
  account TEXT NOT NULL, url TEXT NOT NULL, entity TEXT NOT NULL, copy BLOB NOT NULL, applied INTEGER NOT NULL,
  PRIMARY KEY (account, url)) WITHOUT ROWID;
INSERT INTO "strata_remote_copies" VALUES('','https://example.com/api/projects','Project',X'7B226669656C6473223A7B2265746167223A5B225C2276323030315C22225D7D2C227265717565737465644174223A3831373332313236372E323235323932322C2272656365697665644174223A3831373332313236372E323235373239372C2276617279223A7B7D7D',1795628467224756);
INSERT INTO "strata_remote_copies" VALUES('','https://example.com/api/todos','Todo',X'7B226669656C6473223A7B2265746167223A5B225C2276333030365C22225D7D2C2276617279223A7B7D2C2272656365697665644174223A3831373332313236372E323431353235342C227265717565737465644174223A3831373332313236372E323431333633347D',1795628467240687);
CREATE TABLE strata_remote_deleted (
  entity TEXT NOT NULL, id NOT NULL, applied INTEGER NOT NULL, PRIMARY KEY (entity, id)) WITHOUT ROWID;
CREATE TABLE strata_remote_edits (
  entity TEXT NOT NULL, record NOT NULL, field TEXT NOT NULL, base, PRIMARY KEY (entity, record, field)) WITHOUT ROWID;
INSERT INTO "strata_remote_edits" VALUES('Todo','1','desc','old');
INSERT INTO "strata_remote_edits" VALUES('Todo','3','desc','old');
INSERT INTO "strata_remote_edits" VALUES('Todo','3','done',0);
INSERT INTO "strata_remote_edits" VALUES('Todo','3','projectID','p1');
INSERT INTO "strata_remote_edits" VALUES('Todo','3','title','T3');
INSERT INTO "strata_remote_edits" VALUES('Todo','4','desc','old');
INSERT INTO "strata_remote_edits" VALUES('Todo','5','desc','there');
CREATE TABLE strata_remote_ids (
  entity TEXT NOT NULL, old NOT NULL, new NOT NULL, PRIMARY KEY (entity, old)) WITHOUT ROWID;
CREATE TABLE strata_remote_meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
INSERT INTO "strata_remote_meta" VALUES('applied/Project',1795628467224756);
INSERT INTO "strata_remote_meta" VALUES('applied/Todo',1795628467267584);
INSERT INTO "strata_remote_meta" VALUES('format',1);
INSERT INTO "strata_remote_meta" VALUES('mapping','Project 1 myId=id,name=name myId,name
Todo 1 myId=id,title=title,desc=description,done=done,projectID=project_id myId,title,desc,done,projectID');
CREATE TABLE strata_remote_records (
  entity TEXT NOT NULL, record NOT NULL, applied INTEGER NOT NULL, etag TEXT, modified TEXT,
  PRIMARY KEY (entity, record)) WITHOUT ROWID;
INSERT INTO "strata_remote_records" VALUES('Project','p1',1795628467224756,NULL,NULL);
INSERT INTO "strata_remote_records" VALUES('Todo','1',1795628467240687,NULL,NULL);
INSERT INTO "strata_remote_records" VALUES('Todo','2',1795628467267584,'"v4"',NULL);
INSERT INTO "strata_remote_records" VALUES('Todo','3',1795628467240687,NULL,NULL);
INSERT INTO "strata_remote_records" VALUES('Todo','4',1795628467240687,NULL,NULL);
INSERT INTO "strata_remote_records" VALUES('Todo','5',1795628467240687,NULL,NULL);
INSERT INTO "strata_remote_records" VALUES('Todo','6',1795628467240687,NULL,NULL);
CREATE TABLE strata_remote_sent (
  number INTEGER NOT NULL, field TEXT NOT NULL, value, PRIMARY KEY (number, field)) WITHOUT ROWID;
INSERT INTO "strata_remote_sent" VALUES(4,'desc','here');
INSERT INTO "strata_remote_sent" VALUES(4,'done',0);
INSERT INTO "strata_remote_sent" VALUES(4,'projectID','p1');
INSERT INTO "strata_remote_sent" VALUES(4,'title','Made');
CREATE TABLE "todo" ("myId" TEXT PRIMARY KEY NOT NULL, "title" TEXT NOT NULL, "desc" TEXT, "done" BOOLEAN NOT NULL, "projectID" TEXT REFERENCES "project"("myId") ON DELETE CASCADE);
INSERT INTO "todo" VALUES('1','T1','waiting',0,'p1');
INSERT INTO "todo" VALUES('2','T2','arrived',0,'p1');
INSERT INTO "todo" VALUES('4','T4','refused',0,'p1');
INSERT INTO "todo" VALUES('5','T5','here',0,'p1');
INSERT INTO "todo" VALUES('6','T6','old',0,'p1');
INSERT INTO "todo" VALUES('new','Made','here',0,'p1');
INSERT INTO "todo" VALUES('newer','Second',NULL,0,'p1');
CREATE INDEX strata_remote_awaited_target ON strata_remote_awaited (target, id);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('strata_remote_changes',7);
INSERT INTO "sqlite_sequence" VALUES('strata_remote_conflicts',1);
COMMIT;
