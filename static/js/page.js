// Everything that a page does beyond links and forms. Without it each page still works.
import { startActing } from "./act.js";
import { startAges } from "./ages.js";
import { startForms } from "./forms.js";
import { startKeyboard } from "./keyboard.js";
import { startLive } from "./live.js";
import { startRows } from "./rows.js";
import { startTelling } from "./tell.js";
import { startZone } from "./zone.js";

startLive();
startAges();
startForms();
startActing();
startKeyboard();
startRows();
startTelling();
startZone();
