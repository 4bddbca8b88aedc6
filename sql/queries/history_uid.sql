-- As history_all, of 5 a uid
.as history_all WHERE uid = ?5
