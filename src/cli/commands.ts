// The table of commands, in the order of help.
import type { Command } from "./command.ts";
import { answer } from "./commands/answer.ts";
import { approve } from "./commands/approve.ts";
import { autoApprove } from "./commands/auto-approve.ts";
import { backup } from "./commands/backup.ts";
import { cancel } from "./commands/cancel.ts";
import { chat } from "./commands/chat.ts";
import { check } from "./commands/check.ts";
import { close } from "./commands/close.ts";
import { deny } from "./commands/deny.ts";
import { collaborator } from "./commands/collaborator.ts";
import { doctor } from "./commands/doctor.ts";
import { exportCommand } from "./commands/export.ts";
import { importCommand } from "./commands/import.ts";
import { handoff } from "./commands/handoff.ts";
import { init } from "./commands/init.ts";
import { interrupt } from "./commands/interrupt.ts";
import { log } from "./commands/log.ts";
import { prune } from "./commands/prune.ts";
import { release } from "./commands/release.ts";
import { request } from "./commands/request.ts";
import { resolve } from "./commands/resolve.ts";
import { restore } from "./commands/restore.ts";
import { resume } from "./commands/resume.ts";
import { run } from "./commands/run.ts";
import { say } from "./commands/say.ts";
import { set } from "./commands/set.ts";
import { show } from "./commands/show.ts";
import { start } from "./commands/start.ts";
import { stats } from "./commands/stats.ts";
import { steer } from "./commands/steer.ts";
import { tasks } from "./commands/tasks.ts";
import { verify } from "./commands/verify.ts";
import { worker } from "./commands/worker.ts";

export const commands: readonly Command[] = [
  start,
  init,
  chat,
  run,
  worker,
  tasks,
  show,
  log,
  request,
  say,
  steer,
  answer,
  approve,
  deny,
  autoApprove,
  interrupt,
  cancel,
  close,
  resume,
  resolve,
  verify,
  collaborator,
  handoff,
  set,
  release,
  check,
  stats,
  exportCommand,
  importCommand,
  backup,
  restore,
  prune,
  doctor,
];
